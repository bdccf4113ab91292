"""The example page of the design: a tuning guide whose statements mean nothing without their context.

The lines are those that the design gives for the page.
"""

from uuid import UUID

import pytest

from streams.models.inference.chain_encoder import chain_model
from streams.models.inference.repository import CHAIN_MODEL, parameters_of, read_config
from streams.models.protocols import Link
from streams.pages.normalize import normalize
from streams.settings import Settings
from streams.statements.chaining import chain_input, make_statements
from streams.statements.drafting import draft_statements
from streams.statements.statement import Statement
from tests.sentence_splitter import SPLITTER

PAGE = UUID("5f0c7a4e-6f43-5f5c-9a3c-2f9f0a3f5b10")
ROWS = (
    ("Development", "100"),
    ("Web Application", "200-400"),
    ("Data Warehouse", "50-100"),
    ("Microservices", "20-50 per service"),
)
TABLE = (
    "<table><tr><th>Environment</th><th>Recommended Setting</th><th>…</th></tr>"
    + "".join(f"<tr><td>{name}</td><td>{setting}</td><td>…</td></tr>" for name, setting in ROWS)
    + "</table>"
)
HTML = f"""<!doctype html><html lang="en"><title>PostgreSQL Performance Tuning Guide</title><main>
<h1>PostgreSQL Performance Tuning Guide</h1><p>…</p>
<h2>Connection Settings</h2><p>…</p>
<h3>Maximum connections</h3>
<p>Each connection uses a new process. This is different to most other database systems. Therefore, the setting may have
surprising performance impact. Due to this design, connections use more resources than in a thread-based system, and so
require extra consideration. Here are some recommended values:</p>
<ul><li>If you are using version 16 or greater:{TABLE}</li><li>If you are using version 15:{TABLE}</li></ul>
</main></html>"""

HEADINGS = ["PostgreSQL Performance Tuning Guide", "Connection Settings", "Maximum connections"]
PROCESS = "Each connection uses a new process."
DIFFERENT = "This is different to most other database systems."
IMPACT = "Therefore, the setting may have surprising performance impact."
DESIGN = (
    "Due to this design, connections use more resources than in a thread-based system, and so require extra "
    "consideration."
)
LABELS = {DIFFERENT: PROCESS, IMPACT: DIFFERENT, DESIGN: PROCESS}
"""The antecedents that a reader of the page gives its sentences."""


def labelled(sentences: list[str]) -> list[Link]:
    antecedents = [sentences.index(LABELS[text]) if text in LABELS else -1 for text in sentences]
    return [Link((antecedent,) if antecedent >= 0 else (), antecedent) for antecedent in antecedents]


def by_the_shipped_model(sentences: list[str]) -> list[Link]:
    folder = Settings().models_path / "local" / CHAIN_MODEL
    return chain_model(parameters_of(read_config(folder)), folder / "1")(sentences)


@pytest.fixture(scope="module", params=[labelled, by_the_shipped_model])
def guide(request: pytest.FixtureRequest) -> dict[str, Statement]:
    """The page's statements by their text, the first of each."""
    found, _ = draft_statements(normalize(HTML.encode(), url="https://guide.example/").document, SPLITTER)
    sentences, owners = chain_input(found)
    made = make_statements(PAGE, found, owners, request.param(sentences))
    return {statement.text: statement for statement in reversed(made)}


def test_a_row_has_its_headings_its_leading_statements_and_its_column_headings(guide: dict[str, Statement]) -> None:
    row = guide["Environment: Development | Recommended Setting: 100 | …"]
    assert row.in_context == "\n".join(
        [
            *HEADINGS,
            "Here are some recommended values:",
            "If you are using version 16 or greater:",
            "Environment: Development | Recommended Setting: 100 | …",
        ]
    )


def test_a_chain_skips_the_sentences_that_are_not_needed(guide: dict[str, Statement]) -> None:
    assert guide[DESIGN].in_context == "\n".join([*HEADINGS, PROCESS, DESIGN])


def test_a_chain_has_several_hops(guide: dict[str, Statement]) -> None:
    assert guide[IMPACT].in_context == "\n".join([*HEADINGS, PROCESS, DIFFERENT, IMPACT])
