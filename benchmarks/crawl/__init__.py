"""The crawl: the frontier, fetching, robots.txt, URLs, and how fresh an index stays."""
