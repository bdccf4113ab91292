"""Vectors of statements: the embed stage (meaning), BM25 (words), and the index stage."""
