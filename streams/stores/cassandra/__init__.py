"""Records, blobs, ledger, fingerprints and frontier in Apache Cassandra.

Every statement reads or writes one partition by its key; there is no scan, no filter and no lightweight transaction.
Every write of a record carries the time of the event that it comes from.
"""

from streams.stores.cassandra.blobs import CassandraBlobs
from streams.stores.cassandra.fingerprints import CassandraFingerprints
from streams.stores.cassandra.frontier import CassandraFrontier
from streams.stores.cassandra.ledger import CassandraLedger
from streams.stores.cassandra.migrating import migrate
from streams.stores.cassandra.pages import CassandraPages
from streams.stores.cassandra.session import CassandraSession, connect

__all__ = [
    "CassandraBlobs",
    "CassandraFingerprints",
    "CassandraFrontier",
    "CassandraLedger",
    "CassandraPages",
    "CassandraSession",
    "connect",
    "migrate",
]
