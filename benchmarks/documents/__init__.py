"""Documents: which text of a page is main content, structured data, files that are not HTML, made spam."""
