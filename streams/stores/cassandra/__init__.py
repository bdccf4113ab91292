"""Records, blobs, ledger, fingerprints and frontier in Apache Cassandra.

Every statement reads or writes one partition by its key; there is no filter and no lightweight transaction. The one
scan is that of all pages by token, for `riffle reindex`.
Every write of a record carries the time of the event that it comes from.
"""

from streams.stores.cassandra.blobs import CassandraBlobs
from streams.stores.cassandra.fingerprints import CassandraFingerprints
from streams.stores.cassandra.frontier import CassandraFrontier
from streams.stores.cassandra.ledger import CassandraLedger
from streams.stores.cassandra.migrating import migrate
from streams.stores.cassandra.pages import CassandraPages
from streams.stores.cassandra.reindexing import CassandraReindexing
from streams.stores.cassandra.session import CassandraSession, connect

__all__ = [
    "CassandraBlobs",
    "CassandraFingerprints",
    "CassandraFrontier",
    "CassandraLedger",
    "CassandraPages",
    "CassandraReindexing",
    "CassandraSession",
    "connect",
    "migrate",
]
