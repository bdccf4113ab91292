"""The benchmarks as commands: `python -m benchmarks NAME`, or `make bench ARGS=NAME`.

A benchmark's module is imported when the benchmark is called, so that `--help` loads no client of a server.
"""

from pathlib import Path
from typing import Annotated

import typer

from streams.commands.console import AsJson, command, command_group, load_settings, print_figures
from streams.errors import UsageError

bench_app = command_group("Speed and memory, measured on this machine.")


@bench_app.command("pipeline")
@command
async def bench_pipeline(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="DIR")],
    pages: Annotated[int | None, typer.Option(min=1, help="Number of pages, spread evenly. Default: all.")] = None,
    as_json: AsJson = False,
) -> int:
    """Measure the running stack from fetched to searchable: pages/s, statements/s, CPU and memory by process.

    Example:  riffle up && python -m benchmarks pipeline mirror/ --pages 500
    """
    from benchmarks.pipeline import run

    return await run(load_settings(), folder, pages, as_json=as_json)


@bench_app.command("fetching")
@command
async def bench_fetching(
    in_flight: Annotated[int, typer.Option(min=1, help="Number of fetches in flight.")] = 500,
    as_json: AsJson = False,
) -> int:
    """Measure the memory of many fetches in flight: a host for each, over TLS on loopback.

    Example:  python -m benchmarks fetching --in-flight 500
    """
    from benchmarks.fetching import run

    return await run(in_flight, as_json=as_json)


@bench_app.command("entity-dump")
@command
async def bench_entity_dump(
    gigabytes: Annotated[float, typer.Option(min=0.01, help="Size of the generated dump, unpacked.")] = 2.0,
    kind: Annotated[str, typer.Option(help="wikidata or wikipedia.")] = "wikidata",
    minutes: Annotated[float, typer.Option(min=0, help="Stop after this time. 0: at the end of the dump.")] = 0,
    folder: Annotated[Path | None, typer.Option(file_okay=False, help="Where the dump is kept.")] = None,
    with_stage: Annotated[bool, typer.Option("--stage", help="Handle each event, with the model in process.")] = False,
    as_json: AsJson = False,
) -> int:
    """Measure the import of a generated dump: items a second, and memory over the whole run.

    Example:  python -m benchmarks entity-dump --gigabytes 2 --kind wikipedia
    """
    from benchmarks.entity_dump import run

    return await run(kind, gigabytes, minutes, folder, with_stage=with_stage, as_json=as_json)


@bench_app.command("entity-import")
@command
async def bench_entity_import(
    items: Annotated[int, typer.Option(min=600, help="Number of items of the generated dump.")] = 20_000,
    kind: Annotated[str, typer.Option(help="wikidata or wikipedia.")] = "wikipedia",
    kill_worker: Annotated[bool, typer.Option("--kill-worker", help="Also kill the worker of the stage once.")] = False,
    as_json: AsJson = False,
) -> int:
    """Import a generated dump on real servers, kill the import on its way, and compare all that is stored.

    Example:  python -m benchmarks entity-import --items 20000 --kill-worker
    """
    from benchmarks.entity_import import run

    return await run(load_settings(), kind, items, kill_worker=kill_worker, as_json=as_json)


@bench_app.command("injection")
@command
async def bench_injection(
    url: Annotated[str, typer.Argument(metavar="URL", help="A model's server with the API of OpenAI, up to /v1.")],
    key_file: Annotated[Path | None, typer.Option(exists=True, help="File with the server's API key.")] = None,
    as_json: AsJson = False,
) -> int:
    """Answer with hostile pages and queries by a real model, and count what changes and what is dropped.

    Example:  riffle models serve & python -m benchmarks injection http://127.0.0.1:8000/v1 --key-file .riffle/chat.key
    """
    from benchmarks.injection import run

    return await run(url, key_file, as_json=as_json)


@bench_app.command("panels")
@command
async def bench_panels(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A collection of abstracts (BEIR).")],
    others: Annotated[Path, typer.Option(exists=True, file_okay=False, help="Folder of further collections.")],
    entities: Annotated[int, typer.Option(min=50, help="Number of entities.")] = 1_200,
    as_json: AsJson = False,
) -> int:
    """Fit the confidence of panels on one half of the entities, and judge it on the other half.

    Example:  python -m benchmarks panels ir/dbpedia-mini-a --others ir
    """
    from benchmarks.panels import run

    return await run(folder, others, entities, as_json=as_json)


@bench_app.command("panel-cost")
@command
async def bench_panel_cost(
    rounds: Annotated[int, typer.Option(min=10, help="Number of questions.")] = 300, as_json: AsJson = False
) -> int:
    """Measure a result page without panels, with panels but no entity, and with entities, asked in turns.

    Example:  python -m benchmarks panel-cost
    """
    from benchmarks.panel_cost import run

    return await run(rounds, as_json=as_json)


@bench_app.command("queries")
@command
async def bench_queries(
    questions: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A file with one question a line.")],
    count: Annotated[int, typer.Option(min=10, help="Number of questions to ask.")] = 200,
    while_indexing: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, metavar="DIR", help="Ask again while these pages are indexed."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Measure how long a search takes on the running stack, part by part: idle, and while pages are indexed.

    Examples:

        python -m benchmarks queries questions.tsv --count 200
        python -m benchmarks queries questions.tsv --while-indexing mirror/
    """
    from benchmarks.queries import run

    return await run(load_settings(), questions, count, while_indexing, as_json=as_json)


@bench_app.command("suggest")
@command
async def bench_suggest(
    words: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A file with a word a line.")],
    queries: Annotated[int, typer.Option(min=1_000, help="Number of distinct queries.")] = 1_000_000,
    look_ups: Annotated[int, typer.Option(min=100, help="Number of prefixes that are looked up.")] = 20_000,
    rate: Annotated[float, typer.Option(min=1, help="Requests a second over HTTP.")] = 3_000,
    seconds: Annotated[float, typer.Option(min=1, help="Duration of the requests over HTTP.")] = 15,
    as_json: AsJson = False,
) -> int:
    """Measure suggestions in memory, beside a trie of another library, and over HTTP.

    Example:  python -m benchmarks suggest count_1w.txt --rate 1000
    """
    from benchmarks.suggest import run

    print_figures("suggestions", await run(words, queries, look_ups, rate, seconds), as_json)
    return 0


@bench_app.command("robots")
@command
def bench_robots(
    archive: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A .tar.zst of robots.txt files.")],
    as_json: AsJson = False,
) -> int:
    """Measure reading robots.txt files, real and hostile ones, beside other readers.

    Example:  python -m benchmarks robots real_robots.tar.zst
    """
    from benchmarks.robots import run

    print_figures("robots.txt", run(archive), as_json)
    return 0


@bench_app.command("urls")
@command
def bench_urls(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="DIR", help="DIR/HOST/path.html")],
    as_json: AsJson = False,
) -> int:
    """Measure making URLs canonical, with all rules, beside other libraries.

    Example:  python -m benchmarks urls mirror/
    """
    from benchmarks.urls import run

    print_figures("URLs", run(folder), as_json)
    return 0


@bench_app.command("limits")
@command
async def bench_limits(
    seconds: Annotated[float, typer.Option(min=1, help="Time for each way.")] = 20,
    gateways: Annotated[int, typer.Option(min=1, help="Number of gateways.")] = 4,
    per_minute: Annotated[int, typer.Option(min=1, help="Budget of the client (work units a minute).")] = 600,
    as_json: AsJson = False,
) -> None:
    """Measure how gateways share a budget through the running Cassandra: by rows, by a counter, by a lock.

    Example:  riffle up --servers-only && python -m benchmarks limits
    """
    from benchmarks.limits import run

    await run(load_settings(), seconds, gateways, per_minute, as_json=as_json)


@bench_app.command("freshness")
@command
def bench_freshness(
    pages: Annotated[int, typer.Option(min=100)] = 10_000,
    days: Annotated[int, typer.Option(min=1)] = 30,
    as_json: AsJson = False,
) -> int:
    """Simulate how fresh an index stays by the rule for further visits, beside other policies with as many requests.

    Example:  python -m benchmarks freshness --pages 1000
    """
    from benchmarks.freshness import run

    print_figures("Freshness", run(pages, days), as_json)
    return 0


@bench_app.command("frontier")
@command
def bench_frontier(
    hosts: Annotated[int, typer.Option(min=1)] = 100_000,
    urls: Annotated[int, typer.Option(min=1, help="URLs in the queue of each host.")] = 100,
    leases: Annotated[int, typer.Option(min=1, help="Maximum number of URLs under way.")] = 5_000,
    as_json: AsJson = False,
) -> int:
    """Measure the frontier's memory and scheduling over a generated store, beside a plain heap.

    Example:  python -m benchmarks frontier --hosts 100000
    """
    from benchmarks.frontier import run

    print_figures("Frontier", run(hosts, urls, leases), as_json)
    return 0


@bench_app.command("link-ranks")
@command
def bench_link_ranks(
    edges: Annotated[int, typer.Option(min=100, help="Number of edges of the generated graph.")] = 1_000_000,
    as_json: AsJson = False,
) -> None:
    """Measure ranks and centralities by the batch job, also on a local Dask cluster, beside one process.

    Example:  python -m benchmarks link-ranks --edges 1000000
    """
    from benchmarks.link_ranks import run

    print_figures("Ranks by links", run(edges), as_json)


@bench_app.command("anchors")
@command
def bench_anchors(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="DIR")],
    as_json: AsJson = False,
) -> None:
    """Measure anchor texts as a field of retrieval, on five hosts whose editors wrote an index.

    Example:  python -m benchmarks anchors miniweb/
    """
    from benchmarks.anchors import run

    print_figures("anchor texts", run(folder), as_json)


@bench_app.command("frontier-store")
@command
async def bench_frontier_store(
    urls: Annotated[int, typer.Option(min=1_000, help="Completed URLs of one host.")] = 100_000,
    as_json: AsJson = False,
) -> None:
    """Measure the frontier on a Cassandra of its own: reads after many completed URLs, partitions, sustained rate.

    Example:  python -m benchmarks frontier-store --urls 100000
    """
    from benchmarks.frontier_store import run

    print_figures("The frontier's store", await run(load_settings(), urls), as_json)


@bench_app.command("page")
@command
def bench_page(
    questions: Annotated[
        Path | None,
        typer.Argument(exists=True, dir_okay=False, metavar="[QUESTIONS]", help="Default: the demo's questions."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of questions to ask with each coding.")] = 100,
    as_json: AsJson = False,
) -> int:
    """Measure the result page of the running stack as a browser gets it: first byte, last byte, weight, by coding.

    Example:  riffle up && python -m benchmarks page questions.tsv --count 200
    """
    from benchmarks.page import run

    return run(load_settings(), questions, count, as_json=as_json)


@bench_app.command("open-sets")
@command
def bench_open_sets(
    out: Annotated[Path, typer.Argument(file_okay=False, metavar="OUT", help="Folder for the collections.")],
    web: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, metavar="DIR", help="Default: the bundled web.")
    ] = None,
) -> None:
    """Make test collections of kinds that open ones lack, for `riffle eval search --all`: links, keywords, questions.

    Example:  python -m benchmarks open-sets collections/ && riffle eval search --all collections/
    """
    from benchmarks.open_sets import make

    for name, queries in make(out, web):
        typer.echo(f"{out / name}: {queries} queries")


@bench_app.command("embed")
@command
async def bench_embed(
    folder: Annotated[
        Path | None, typer.Argument(exists=True, file_okay=False, metavar="[DIR]", help="Default: the bundled web.")
    ] = None,
    pages: Annotated[int, typer.Option(min=1, help="Number of pages, spread evenly.")] = 40,
    as_json: AsJson = False,
) -> int:
    """Measure only the embed stage: runtimes beside each other, how busy the model is, texts that were saved.

    Example:  python -m benchmarks embed mirror/ --pages 100
    """
    from benchmarks.embed import run

    return await run(load_settings(), folder, pages, as_json=as_json)


@bench_app.command("models")
@command
async def bench_models(
    url: Annotated[
        str, typer.Argument(metavar="[URL]", help="gRPC address of a Triton. Default: the address of the settings.")
    ] = "",
    repository: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Serve these graphs by a Triton of this benchmark, no URL."),
    ] = None,
    instances: Annotated[
        int | None, typer.Option(min=1, help="With --repository: instances of a model on each GPU.")
    ] = None,
    batch: Annotated[list[int] | None, typer.Option(min=1, help="Texts in a request. May be repeated.")] = None,
    clients: Annotated[int, typer.Option(min=1, help="Number of client processes that embed statements.")] = 4,
    chain_clients: Annotated[int, typer.Option(min=0, help="Number of client processes that ask for chains.")] = 1,
    seconds: Annotated[float, typer.Option(min=1, help="Time of each measurement.")] = 10,
    folder: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="HOST/path pages. Default: the bundled web.")
    ] = None,
    pages: Annotated[int, typer.Option(min=1, help="Number of pages, spread evenly.")] = 60,
    save_texts: Annotated[Path | None, typer.Option(help="Write the texts to this file.")] = None,
    texts: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Read the texts from this file: no pages needed.")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="Append each result to this file as a line of JSON.")] = None,
    as_json: AsJson = False,
) -> int:
    """Measure a Triton server with any repository: same results, statements/s, GPU busy, chains, queries beside load.

    Example:  python -m benchmarks models 127.0.0.1:8001 --clients 8 --batch 64 --batch 256
    """
    from benchmarks.served_models import Plan, read_texts, run

    plan = Plan(tuple(batch or [64]), clients, chain_clients, seconds, log)
    found = read_texts(texts, folder, pages, save_texts)
    return await run(load_settings(), url, repository, instances, found, plan, as_json=as_json)


@bench_app.command("graph")
@command
def bench_graph(
    graph: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="A model.onnx of an export.")
    ],
    provider: Annotated[str, typer.Option(help="Execution provider of ONNX Runtime.")] = "CPUExecutionProvider",
    batch: Annotated[list[int] | None, typer.Option(min=1, help="Texts in a run. May be repeated.")] = None,
    tokens: Annotated[list[int] | None, typer.Option(min=1, help="Tokens of each text. May be repeated.")] = None,
    instances: Annotated[int, typer.Option(min=1, help="Sessions at once, each in a thread.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time of each measurement.")] = 3,
    log: Annotated[Path | None, typer.Option(help="Append each result to this file as a line of JSON.")] = None,
    as_json: AsJson = False,
) -> int:
    """Measure an exported graph by itself in ONNX Runtime: statements/s by batch and tokens, GPU busy.

    Example:  python -m benchmarks graph models/sbert/1/model.onnx --provider CUDAExecutionProvider --instances 2
    """
    from benchmarks.graph_rate import run

    sizes, lengths = batch or [1, 8, 32, 64, 128, 256], tokens or [32, 64]
    return run(graph, provider, sizes, lengths, instances, seconds, log, as_json=as_json)


@bench_app.command("index")
@command
async def bench_index(
    statements: Annotated[list[int] | None, typer.Option(min=1_000, help="Number of vectors. May be repeated.")] = None,
    qdrant: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Qdrant's program. Default: the server that runs.")
    ] = None,
    quantization: Annotated[str, typer.Option(help="`int8`, `binary` or `none`.")] = "int8",
    as_json: AsJson = False,
) -> int:
    """Measure recall and latency of the search by meaning beside exact search, for several values of `hnsw_ef`.

    Example:  python -m benchmarks index --statements 20000 --qdrant /usr/bin/qdrant
    """
    from benchmarks.vector_index import run

    if quantization not in ("int8", "binary", "none"):
        raise UsageError(f"{quantization!r}: the quantization is int8, binary or none")
    return await run(load_settings(), statements or [20_000], qdrant, quantization, as_json=as_json)


@bench_app.command("search")
@command
async def bench_search(
    statements: Annotated[
        list[int] | None, typer.Option(min=1_000, help="Number of statements. May be repeated.")
    ] = None,
    qdrant: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Qdrant's program. Default: the local server.")
    ] = None,
    questions: Annotated[int, typer.Option(min=10, help="Number of questions to ask at each size.")] = 200,
    as_json: AsJson = False,
) -> int:
    """Measure how long a whole search takes with that many statements in the index, on servers of its own.

    Example:  python -m benchmarks search --statements 10000 --statements 100000 --qdrant /usr/bin/qdrant
    """
    from benchmarks.search import run

    return await run(load_settings(), statements or [10_000], qdrant, questions, as_json=as_json)


@bench_app.command("operators")
@command
async def bench_operators(
    statements: Annotated[int, typer.Option(min=1_000, help="Number of statements.")] = 30_000,
    qdrant: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Qdrant's program. Default: the server that runs.")
    ] = None,
    questions: Annotated[int, typer.Option(min=5, help="Number of questions to ask, each with all operators.")] = 40,
    as_json: AsJson = False,
) -> int:
    """Measure a search with each operator beside one without, and page 10 beside page 1. Exit status 1: above twice.

    Example:  python -m benchmarks operators --statements 30000 --qdrant /usr/bin/qdrant
    """
    from benchmarks.operators import run

    return await run(load_settings(), statements, qdrant, questions, as_json=as_json)


@bench_app.command("cost")
@command
async def bench_cost(
    web: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="A folder of HOST/path pages. Default: the demo's."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Count the Kafka records, Cassandra writes and reads, and bytes that a page costs, on a stack of its own.

    Example:  python -m benchmarks cost
    """
    from benchmarks.cost import run

    return await run(web, as_json=as_json)


@bench_app.command("crawl")
@command
async def bench_crawl(
    mirror: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="MIRROR")],
    pages: Annotated[int, typer.Option(min=50, help="Number of pages.")] = 2_700,
    as_json: AsJson = False,
) -> int:
    """Measure frontier, fetch and blob writes on a web of 50 hosts on loopback, beside Scrapy on the same pages.

    Example:  python -m benchmarks crawl mirror/ --pages 2700
    """
    from benchmarks.crawl import run

    return await run(load_settings(), mirror, pages, as_json=as_json)


@bench_app.command("crawl-memory")
@command
async def bench_crawl_memory(
    minutes: Annotated[float, typer.Option(min=0.5, help="Duration.")] = 30.0,
    rate: Annotated[float, typer.Option(min=1, help="Pages a second.")] = 20.0,
    look_seconds: Annotated[float, typer.Option(min=1, help="Time between two looks at the memory.")] = 10.0,
    progress: Annotated[Path | None, typer.Option(dir_okay=False, help="File that each look is written to.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the memory of frontier and fetch over a long run, on a local web whose hosts come and go.

    Example:  python -m benchmarks crawl-memory --minutes 30
    """
    from benchmarks.crawl_memory import run

    print_figures("Memory of a crawl", await run(minutes, rate, look_seconds, progress), as_json)


@bench_app.command("transport")
@command
async def bench_transport(
    pages: Annotated[int, typer.Option(min=50, help="Pages of each way.")] = 300,
    as_json: AsJson = False,
) -> None:
    """Measure connections over TLS: kept, resumed by a ticket, and made anew: handshakes and CPU time of a page.

    Example:  python -m benchmarks transport --pages 300
    """
    from benchmarks.transport import run

    print_figures("Connections over TLS", await run(pages), as_json)


@bench_app.command("startup")
@command
def bench_startup(
    times: Annotated[int, typer.Option(min=1, help="Number of starts.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Measure how long `riffle up` takes with empty data, several times, on stacks of its own.

    Example:  python -m benchmarks startup --times 5
    """
    from benchmarks.startup import run

    run(times, as_json=as_json)


@bench_app.command("soft-404")
@command
def bench_soft_404(
    folder: Annotated[Path, typer.Argument(file_okay=False, exists=True, help="A folder of HTML files for each host.")],
    pages: Annotated[int, typer.Option(min=3, help="Maximum number of pages of a host.")] = 1_000,
    as_json: AsJson = False,
) -> None:
    """Measure how alike real pages are to a page "not found" of their host: which pages would count as gone.

    Example:  python -m benchmarks soft-404 web/
    """
    from benchmarks.soft_404 import run

    print_figures("Soft 404s", run(folder, pages), as_json)


@bench_app.command("zoo")
@command
def bench_zoo(
    page: Annotated[Path | None, typer.Option(dir_okay=False, help="A file of Markdown for the table.")] = None,
    as_json: AsJson = False,
) -> None:
    """Meet each bad server and trap of the test suite: its outcome, how long it holds a slot, and the memory it takes.

    Example:  python -m benchmarks zoo --page docs/reference/hostile-servers.md
    """
    from benchmarks.zoo import run

    run(page, as_json=as_json)


@bench_app.command("simulate")
@command
def bench_simulate(
    pages: Annotated[float, typer.Option(min=1, help="Number of pages of the installation, such as 1e10.")] = 1e10,
    max_lag_seconds: Annotated[
        float, typer.Option(min=1, help="Lag at which the frontier pauses, in seconds of the mean rate.")
    ] = 300,
    plots: Annotated[Path | None, typer.Option(file_okay=False, help="A folder for a plot of each scenario.")] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate an installation as `riffle plan` sizes it: a burst, the loss of half of the GPUs, the loss of a region.

    Example:  python -m benchmarks simulate --pages 1e9 --plots plots/
    """
    from benchmarks.capacity_simulation import run

    run(pages, max_lag_seconds, plots, as_json=as_json)


@bench_app.command("simhash")
@command
def bench_simhash(
    fingerprints: Annotated[int, typer.Option(min=1_000, help="Number of fingerprints in the index.")] = 1_000_000,
    tables: Annotated[int, typer.Option(help="4, 10 or 20 tables.")] = 4,
    as_json: AsJson = False,
) -> None:
    """Measure look-ups and memory of a SimHash index in memory, and the time to make fingerprints.

    Example:  python -m benchmarks simhash --fingerprints 1000000
    """
    from benchmarks.simhash import run
    from streams.sketches.simhash_tables import TABLE_COUNTS

    if tables not in TABLE_COUNTS:
        raise UsageError(f"{tables} tables: a SimHash index has {', '.join(map(str, TABLE_COUNTS))} tables")
    print_figures("SimHash index", run(fingerprints=fingerprints, table_count=tables), as_json)


@bench_app.command("first-results")
@command
async def bench_first_results(as_json: AsJson = False) -> None:
    """Show the first results of twenty queries over the bundled web, and whether their statements read alone.

    Example:  python -m benchmarks first-results
    """
    from benchmarks.first_results import run

    await run(load_settings(triton={"url": "inprocess:"}), as_json=as_json)


@bench_app.command("known-items")
@command
async def bench_known_items(
    web: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="HOST/path.html. Default: the bundled web.")
    ] = None,
    pages: Annotated[int, typer.Option(min=1, help="Maximum number of pages.")] = 400,
    as_json: AsJson = False,
) -> None:
    """Measure how often a page is the first result for its title, in any order of words, and for its site's name.

    Example:  python -m benchmarks known-items --web mirror/ --pages 300
    """
    from benchmarks.known_items import run

    await run(load_settings(triton={"url": "inprocess:"}), web, pages, as_json=as_json)


@bench_app.command("files")
@command
def bench_files(
    files: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, metavar="FILE...")],
    show: Annotated[int, typer.Option(min=0, max=50, help="Number of blocks of each file to print.")] = 0,
) -> None:
    """Measure files that are not HTML as documents: title, headings, their order, page numbers, garbage.

    Example:  python -m benchmarks files manuals/*.pdf manuals/*.epub --show 5
    """
    from benchmarks.file_quality import run

    run(files, show)


if __name__ == "__main__":
    bench_app(prog_name="python -m benchmarks")
