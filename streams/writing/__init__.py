"""Crawls, own pages and removals of programs that use the API. They lead to the events of `riffle crawl` and others."""
