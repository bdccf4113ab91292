"""Tests of files that are not HTML."""
