"""Jobs on stored data: sweep blobs that nothing refers to, erase pages, fill a collection."""
