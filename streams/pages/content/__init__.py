"""Which text of a page is its main content, and which is boilerplate."""
