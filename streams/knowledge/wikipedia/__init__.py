"""Articles of Wikipedia become parts of entities."""
