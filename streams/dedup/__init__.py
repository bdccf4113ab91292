"""Finds exact duplicates and near-duplicates, and elects a representative for each group."""
