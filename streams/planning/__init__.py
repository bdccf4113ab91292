"""Capacity planning: what a number of pages needs, computed from measured unit costs."""
