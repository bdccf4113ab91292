"""Sketches of texts: 64 to 1,024 bits that stand in for a text when it is compared with millions of others.

`dedup` makes sketches and decides by them, and the stores of fingerprints find similar sketches under the keys that
these modules compute (the tables of `simhash`, the bands of `minhash`). The modules are pure and import nothing of
Riffle, so that no store knows a stage.
"""
