"""The benchmarks as commands: `python -m benchmarks NAME`, or `make bench ARGS=NAME`.

A table of the commands, each with its module: the command is the module's function `run`. The module is imported when
the command is called, so that `--help` loads no client of a server. Programs that train or make something have no
command; each is called by its module (`python -m benchmarks.documents.content_model`).
"""

import typer

from streams.cli import LazyGroup, Sections

SECTIONS: Sections = {
    "Figures": {
        "record": ("benchmarks.recording:run_record", "Measures the figures of a file again, and writes them."),
        "figures": ("benchmarks.recording:run_figures", "Lists the figures that are stale."),
    },
    "Quality": {
        "eval": ("benchmarks.evaluation.commands.evaluate:eval_app", "Labelled data, beside other programs."),
        "label": ("benchmarks.labelling.app:run", "Pages to label statements."),
    },
    "The whole pipeline": {
        "pipeline": ("benchmarks.stack.pipeline:run", "From fetched to searchable: pages/s, CPU, memory."),
        "cost": ("benchmarks.stack.cost:run", "Records, writes and bytes that a page costs."),
        "startup": ("benchmarks.stack.startup:run", "The time that `riffle up` takes with empty data."),
        "simulate": ("benchmarks.stack.capacity_simulation:run", "A planned installation under bursts and losses."),
    },
    "The crawl": {
        "crawl": ("benchmarks.crawl.crawl:run", "Frontier, fetch and blob writes beside Scrapy."),
        "crawl-memory": ("benchmarks.crawl.memory:run", "The memory of frontier and fetch over a long run."),
        "fetching": ("benchmarks.crawl.fetching:run", "The memory of many fetches in flight."),
        "transport": ("benchmarks.crawl.transport:run", "Connections over TLS: kept, resumed, made anew."),
        "frontier": ("benchmarks.crawl.frontier:run", "The frontier's memory and scheduling over many hosts."),
        "frontier-store": ("benchmarks.crawl.frontier_store:run", "The frontier on a Cassandra of its own."),
        "frontier-scale": ("benchmarks.crawl.frontier_scale:run", "Millions of URLs of many hosts in Cassandra."),
        "frontier-rate": ("benchmarks.crawl.frontier_rate:run", "The frontier on Kafka and Cassandra, and a heap."),
        "freshness": ("benchmarks.crawl.freshness:run", "How fresh an index stays, by four policies."),
        "robots": ("benchmarks.crawl.robots:run", "Reading robots.txt files, beside other readers."),
        "urls": ("benchmarks.crawl.urls:run", "Making URLs canonical, beside other libraries."),
        "soft-404": ("benchmarks.crawl.soft_404:run", 'How alike pages are to a page "not found".'),
        "zoo": ("benchmarks.crawl.zoo:run", "Bad servers and traps: outcome, time, memory."),
    },
    "Documents, duplicates, links": {
        "files": ("benchmarks.documents.file_quality:run", "Files that are not HTML, as documents."),
        "page-languages": ("benchmarks.documents.page_languages:run", "Languages of pages, and what they declare."),
        "fingerprint": ("benchmarks.dedup.fingerprint:run", "The time to make the fingerprint of a text."),
        "link-ranks": ("benchmarks.links.link_ranks:run", "Ranks by the batch job."),
        "anchors": ("benchmarks.links.anchors:run", "Anchor texts as a field of retrieval."),
    },
    "Models": {
        "embed": ("benchmarks.models.embed:run", "The embed stage by itself, with each runtime."),
        "models": ("benchmarks.models.served:run", "A Triton server under load, with any repository."),
        "graph": ("benchmarks.models.graph_rate:run", "An exported graph by itself in ONNX Runtime."),
    },
    "Searches": {
        "queries": ("benchmarks.search.queries:run", "The time of a search on the running stack, by part."),
        "page": ("benchmarks.search.page:run", "The result page as a browser gets it."),
        "search": ("benchmarks.search.search:run", "The time of a search by the size of the index."),
        "operators": ("benchmarks.search.operators:run", "Each operator, and late pages of results."),
        "index": ("benchmarks.search.vector_index:run", "Recall and latency of the search by meaning."),
        "limits": ("benchmarks.search.limits:run", "How gateways share a budget through Cassandra."),
        "suggest": ("benchmarks.search.suggest:run", "Suggestions: in memory, and over HTTP."),
        "first-results": ("benchmarks.search.first_results:run", "First results over the bundled web."),
        "ten-languages": ("benchmarks.search.ten_languages:run", "Questions over pages in ten languages."),
        "across-languages": ("benchmarks.evaluation.across_languages:run", "Questions over pages in other languages."),
        "second-web": ("benchmarks.second_web.command:run", "What a person gets of five sets of documentation."),
        "known-items": ("benchmarks.search.known_items:run", "How often the page that a query names is first."),
        "open-sets": ("benchmarks.search.open_sets:run", "Makes test collections of further kinds."),
        "nonsense": ("benchmarks.search.nonsense_words:run", "Nonsense that has confident results, by its words."),
    },
    "Entities and answers": {
        "entity-dump": ("benchmarks.knowledge.entity_dump:run", "The import of a generated dump: speed, memory."),
        "entity-import": ("benchmarks.knowledge.entity_import:run", "An import that is killed on its way."),
        "panels": ("benchmarks.knowledge.panels:run", "Fits and judges the confidence of panels."),
        "panel-cost": ("benchmarks.knowledge.panel_cost:run", "The time of a result page with panels."),
        "steps": ("benchmarks.answers.steps:run", "Questions of several parts in steps, beside one search."),
        "injection": ("benchmarks.answers.injection:run", "Answers with hostile pages and queries."),
    },
}


class Benchmarks(LazyGroup):
    """The commands of the table."""

    sections = SECTIONS
    list_command = "python -m benchmarks --help"


bench_app = typer.Typer(cls=Benchmarks, add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@bench_app.callback()
def benchmarks() -> None:
    """Quality, speed and memory, measured on this machine."""


if __name__ == "__main__":
    bench_app(prog_name="python -m benchmarks")
