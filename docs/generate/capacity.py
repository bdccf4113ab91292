"""The generated tables of the page on capacity."""

from docs.generate.plan_tables import prices_table, published_table, sizes_table, stages_table
from streams.planning.capacity import Workload, plan
from streams.planning.costs import COMMODITY_PRICES_FILE, load_unit_costs

STAGES_AT = Workload(pages=1e9)
PUBLISHED_NOTE = """\
One engine was published with the figures on the left. On the right is the plan for the same pages and statements
in the 30,000 seconds that 100,000 embeddings/s take. It has fewer GPUs, since each is of a faster kind, and more
writes, because each page's history, place in the frontier and fingerprints are kept."""

PRICES_NOTE = """\
Those figures are of one collection. To keep the same pages, each fetched once in 30 days, takes less of everything
but room. The prices of rented machines are those of `streams/planning/commodity_prices.toml` (`riffle plan --pages
2.8e8 --statements-per-page 10.7 --costs streams/planning/commodity_prices.toml`). Both lists of prices are assumed: put
yours in their place."""
DIFFERENCE_NOTE = """\
Where the difference to the published engine comes from, and what of it can go:

- **Qdrant** holds each vector twice (replicas), in 8 bits, with its graph in memory. Its machines are chosen by their
  memory, and their cores idle. `--quantization binary` nearly halves their number; with one replica it halves again,
  and searches lack the part of a lost node.
- **Cassandra** holds bodies, documents and history three times, with half of each disk free for compaction. Two
  replicas save a third of it; with `RIFFLE_CASSANDRA__BLOB_TTL_DAYS` old bodies go.
- **Kafka** keeps a week of events three times. Less retention saves disk, and leaves stages less time to catch up."""


def capacity_tables() -> str:
    """The plans of several sizes, the stages of one of them, and a published engine beside the plan for its work."""
    costs = load_unit_costs()
    return "\n".join(
        (
            "",
            sizes_table(costs),
            "",
            "The stages at 10^9 pages:",
            "",
            stages_table(plan(STAGES_AT, costs)),
            "",
            "## Beside published figures",
            "",
            PUBLISHED_NOTE,
            "",
            published_table(costs),
            "",
            PRICES_NOTE,
            "",
            prices_table(costs, load_unit_costs(COMMODITY_PRICES_FILE)),
            "",
            DIFFERENCE_NOTE,
            "",
        )
    )
