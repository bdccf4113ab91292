"""All settings with their defaults and units, in one frozen object that is read once.

The environment variables are the fields' names in upper case after `RIFFLE_`, with `__` between group and field:
`RIFFLE_CRAWL__DELAY_SECONDS`. `riffle up` writes the local stack's addresses to `.riffle/stack.json`. They are the
defaults of the local profile, and the environment overrides them.
"""

from streams.settings.crawl import CrawlSettings, RenderSettings
from streams.settings.processes import AdminSettings, RuntimeSettings
from streams.settings.root import Settings, read_stack_file, stack_file
from streams.settings.search import GatewaySettings, SearchSettings
from streams.settings.servers import MIN_BLOB_TTL_DAYS, CassandraSettings, KafkaSettings, QdrantSettings, TritonSettings
from streams.settings.sources import AccessSettings, AnswersSettings, KnowledgeSettings, QueriesSettings
