"""HTML to a clean semantic document: main content, metadata, language, links."""
