"""`riffle import`: pages that were fetched elsewhere enter as `pages.fetched`, and go the same way from there."""
