"""Entities: the import of a dump, and the confidence and cost of panels."""
