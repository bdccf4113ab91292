"""The frontier: which URL is fetched next, and when."""
