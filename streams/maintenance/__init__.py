"""Jobs on stored data: sweeping blobs that nothing refers to, and erasing pages."""
