"""Files that are not HTML: PDF, plain text, Markdown, EPUB and OpenDocument, read as HTML that is all content."""
