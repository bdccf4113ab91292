"""The crawl: URL rules, robots.txt, the frontier, fetching, archives."""
