"""Situations that public reports of other crawlers describe: a program runs each of them against the crawler."""
