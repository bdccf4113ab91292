"""The shipped fakes: every store in this process's memory, with the same rules as the real stores.

For tests, and for trying a stage by hand. One contract suite runs over a fake and its real server, so that what a
fake allows, the server allows too. Nothing here survives the process.
"""

from streams.stores.memory.collection import MemoryBlobCollection
from streams.stores.memory.entities import MemoryEntities
from streams.stores.memory.fingerprints import MemoryFingerprints
from streams.stores.memory.frontier import MemoryFrontier
from streams.stores.memory.host_links import MemoryHostLinks
from streams.stores.memory.notes import MemoryNotes, MemoryPaceHolds
from streams.stores.memory.queries import MemoryQueryCounts, MemorySuggestions
from streams.stores.memory.records import MemoryApiKeys, MemoryBlobs, MemoryLedger, MemoryPages
from streams.stores.memory.vectors import MemoryIndex
