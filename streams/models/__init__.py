"""Texts to numbers: the embedding model, the chain model and the cross-encoder. On Triton, in this process, or as fakes.

`protocols.py` is what the rest of Riffle sees. `inference/` is the models' own code, which Triton's backend runs.
"""
