"""Exact duplicates and near-duplicates, and the election of a representative for each group."""
