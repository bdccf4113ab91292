"""Entities from Wikidata and Wikipedia for panels. Not built yet: the event entities.changed is defined."""
