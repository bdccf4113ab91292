"""The order of results: the passes from the two lists of the index to the pages that are shown. Pure.

A pass that needs data of a store or model has a reader of the same name (`streams.search.ranker`), which runs before
it. A new signal is a function in a module of its own and a line in this list.
"""

from collections.abc import Sequence

from streams.search.ranking.answer_form import prefer_answers
from streams.search.ranking.clicks import prefer_clicked
from streams.search.ranking.confidence import keep_nearest_only
from streams.search.ranking.context import Pass, RankingContext
from streams.search.ranking.facets import count_facets
from streams.search.ranking.filters import check_results, filter_results
from streams.search.ranking.fusion import merge_found_lists
from streams.search.ranking.named_pages import prefer_named_pages
from streams.search.ranking.personal import prefer_sites
from streams.search.ranking.priors import prefer_known_and_fresh
from streams.search.ranking.reranking import add_model_scores
from streams.search.ranking.wishes import prefer_wishes
from streams.search.ranking.word_coverage import prefer_pages_with_all_words, put_identifiers_first
from streams.stores.protocols import PageHits

PASSES = (
    Pass("merge", merge_found_lists),
    Pass("coverage", prefer_pages_with_all_words),
    Pass("rerank", add_model_scores),
    Pass("answer_form", prefer_answers),
    Pass("priors", prefer_known_and_fresh),
    Pass("names", prefer_named_pages),
    Pass("clicks", prefer_clicked),
    Pass("personal", prefer_sites),
    Pass("wishes", prefer_wishes),
    Pass("identifiers", put_identifiers_first),
    Pass("facets", count_facets),
    Pass("checks", check_results),
    Pass("filters", filter_results),
    Pass("confidence", keep_nearest_only),
)


def run_passes(passes: Sequence[Pass], context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Return the pages after these passes. Raises DeadlineExceeded after the end of the search."""
    for each in passes:
        context.check_time()
        pages = each.apply(context, pages)
    return pages
