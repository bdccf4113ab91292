"""The gateway: search pages, the API, and the page that shows why a page is (not) indexed."""
