"""Sketches of texts: 64 to 1,024 bits that stand in for a text when it is compared with millions of others.

`dedup` makes them and decides by them, and the stores of fingerprints find similar ones under the keys that these
modules compute (`simhash_tables`, bands of `minhash`). Both import the one implementation here. The modules are pure
and import nothing of Riffle, so that no store knows a stage.
"""
