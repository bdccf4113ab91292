"""Qdrant's own engine behind the part of Qdrant's REST API that Riffle uses, for machines without a Qdrant server.

`python -m streams.local.qdrant_server --port N --data DIR`. No package registry carries a Qdrant server, but
`qdrant-edge-py` carries its engine: the same segments, indexes, filters, IDF and write-ahead log, one shard, in
process. The server's clients use the ordinary `AsyncQdrantClient(url=...)`, so that a real cluster is only another URL.

What it does not do: replication, several shards, snapshots, API keys, HNSW graphs (search is exact: linear in the
number of points, about 2.5 ms for 20,000 of 384 dimensions). It listens on loopback, and without `--client-ca` it
trusts every program that reaches it.
"""
