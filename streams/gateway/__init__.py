"""What people see: search pages, the API, and why a page is (not) indexed."""
