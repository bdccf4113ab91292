"""Jobs on stored data: sweeping blobs that nothing refers to, erasing pages, filling a collection."""
