"""Records, blobs, ledger, fingerprints and frontier in Apache Cassandra.

Every statement reads or writes partitions by their keys, without filters; only `pace_holds` has
conditions (lightweight transactions). Only the sweep
of blobs (`collection`), backups (`copying`), `riffle reindex`, `riffle links rank` and migrations read whole tables.
Every write of a record carries the time of the event that it comes from.
"""

from streams.stores.cassandra.api_access import CassandraApiKeys
from streams.stores.cassandra.blobs import CassandraBlobs
from streams.stores.cassandra.collection import CassandraBlobCollection
from streams.stores.cassandra.entities import CassandraEntities
from streams.stores.cassandra.fingerprints import CassandraFingerprints
from streams.stores.cassandra.frontier import CassandraFrontier
from streams.stores.cassandra.host_links import CassandraHostLinks
from streams.stores.cassandra.migrating import migrate
from streams.stores.cassandra.notes import CassandraNotes, CassandraPaceHolds
from streams.stores.cassandra.queries import CassandraQueryCounts, CassandraSuggestions
from streams.stores.cassandra.records import CassandraLedger, CassandraPages
from streams.stores.cassandra.session import CassandraSession, connect
