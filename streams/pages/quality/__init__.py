"""Quality of a page, from what the journey knows of it: numbers with their parts, never a removal."""
