"""Commands about pages: crawl and import them, search them, show one of them."""
