"""`python -m benchmarks eval`: quality, against labelled data and other programs."""

from benchmarks.evaluation.commands.page_quality import eval_chains, eval_dedup, eval_extract
from benchmarks.evaluation.commands.search_quality import (
    eval_confidence,
    eval_panels,
    eval_search,
)
from benchmarks.evaluation.commands.word_quality import eval_spell, eval_suggest
from streams.commands.console import command_group

eval_app = command_group("Quality, against labelled data and beside other programs.")
eval_app.command("extract")(eval_extract)
eval_app.command("dedup")(eval_dedup)
eval_app.command("panels")(eval_panels)
eval_app.command("search")(eval_search)
eval_app.command("confidence")(eval_confidence)
eval_app.command("spell")(eval_spell)
eval_app.command("suggest")(eval_suggest)
eval_app.command("chains")(eval_chains)
