"""The content of pages for programs: documents, statements and vectors, of indexed pages or of a page fetched now."""
