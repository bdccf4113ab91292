"""The decision which text of a page is main content, and which is boilerplate."""
