"""Entities from Wikidata, Wikipedia and own files: imported, stored, and found for panels."""
