"""Which URL is fetched next, and when, and how: URL law, robots, politeness, the frontier, the guard, fetching."""
