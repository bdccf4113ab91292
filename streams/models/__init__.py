"""Texts to numbers: the embedding model, the chain model and the cross-encoder: on Triton, in process, or as fakes.

`protocols.py` is what the rest of Riffle sees. `inference/` is the models' own code, which Triton's backend runs.
"""
