"""The vector index in Qdrant (`index`), its REST API for whole collections (`rest`), and `connections`.

This file imports none of them: a backup needs `rest`, and not the client's memory.
"""
