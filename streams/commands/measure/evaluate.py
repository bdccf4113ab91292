"""`riffle eval`: quality, against labelled data and other programs."""

from streams.commands.console import command_group
from streams.commands.measure.page_quality import eval_chains, eval_dedup, eval_extract
from streams.commands.measure.search_quality import (
    eval_answers,
    eval_confidence,
    eval_panels,
    eval_search,
    eval_snippets,
)
from streams.commands.measure.word_quality import eval_spell, eval_suggest

eval_app = command_group("Quality, against labelled data and beside other programs.")
eval_app.command("extract")(eval_extract)
eval_app.command("dedup")(eval_dedup)
eval_app.command("answers")(eval_answers)
eval_app.command("panels")(eval_panels)
eval_app.command("search")(eval_search)
eval_app.command("snippets")(eval_snippets)
eval_app.command("confidence")(eval_confidence)
eval_app.command("spell")(eval_spell)
eval_app.command("suggest")(eval_suggest)
eval_app.command("chains")(eval_chains)
