"""Exact and near duplicates, and the page that stands for them."""
