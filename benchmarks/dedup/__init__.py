"""Duplicates: look-ups of SimHashes, groups of duplicates, labelled pairs and the weights of words."""
