"""Items of Wikidata become parts of entities."""
