"""Requests that no crawl scheduled: a page that a person wants now, and what the scripts of a page ask for."""
