"""Collection of blobs that nothing refers to: mark all references, then sweep what is unmarked and old enough."""
