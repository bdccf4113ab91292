"""The generated tables of the page on capacity."""

from docs.generate.plan_tables import published_table, sizes_table, stages_table
from streams.planning.capacity import Workload, plan
from streams.planning.costs import load_unit_costs

STAGES_AT = Workload(pages=1e9)
PUBLISHED_NOTE = """\
One engine was published with the figures on the left. On the right is the plan for the same pages and statements
in the 30,000 seconds that 100,000 embeddings/s take. It has fewer GPUs, since each is of a faster kind, and more
writes, because each page's history, place in the frontier and fingerprints are kept."""


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
        )
    )
