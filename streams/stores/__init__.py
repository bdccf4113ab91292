"""The stores: small Protocols (`protocols`), the adapters of servers (`cassandra`, `qdrant`), fakes (`memory`).

`opener` opens the stores that a stage asks for, by the table of servers. Adapters and fakes share the other modules, so
that both store and find the same: the bytes of rows (`packing`, `rows`), the references in them
(`references`), the keys of hosts (`host_buckets`), the names of collections (`vector_collection`), the order of hits
(`hits`), and the meaning of stored values that several stages read (`removals`, `statement_payload`).
"""
