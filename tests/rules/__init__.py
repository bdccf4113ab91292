"""The rules of the structure, of words and of documents: `make check` runs them."""
