"""Qdrant's own engine behind the part of Qdrant's REST API that Riffle uses, for machines without a Qdrant server.

`python -m streams.local.qdrant_server --port N --data DIR`. No package registry carries a Qdrant server, but
`qdrant-edge-py` carries its engine: the same segments, indexes, filters and graphs, one shard, in process. The server's
clients use the ordinary `AsyncQdrantClient(url=...)`, so that a real cluster is only another URL.

| module | what it is |
|---|---|
| `app` | the HTTP service: one function per call of the API |
| `catalog` | all collections and aliases of a data folder |
| `collection` | the log, the shards and the builds of one collection |
| `layout`, `write_ahead_log` | its files: which runs there are, and what is in none of them yet |
| `shard_process`, `shard` | a process with one shard, and what it does |
| `build` | a process that makes a run with a graph |
| `payloads` | the payloads of a shard as JSON, which answers have as they are |
| `merging`, `frequencies` | how the answers of several shards become one; weights of terms over all shards |
| `queries`, `shard_config`, `errors` | the API's JSON as the engine's objects, and back |

New points are searched exactly; 10,000 of them become a run with a graph and quantized vectors
(docs/decisions/0137-graphs-on-one-machine.md).

What it does not do: replication, several machines, snapshots, API keys. It listens on loopback, and without
`--client-ca` it trusts every program that reaches it.
"""
