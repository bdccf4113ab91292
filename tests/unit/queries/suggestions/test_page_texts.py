"""The texts of a page that are suggested: its questions stand in headings, in lists of terms, and in what unfolds."""

from schemas.ids import page_id
from streams.models.protocols import Link
from streams.pages.document.codec import encode_document
from streams.pages.normalize import normalize
from streams.queries.suggestions.page_texts import heading_texts
from streams.statements.chaining import chain_input, make_statements
from streams.statements.sandbox_tasks import decode_drafts, draft
from streams.statements.statement import PageStatements

URL = "https://tides.example/faq"
FAQ = """<!doctype html><html lang=en><title>Questions about tides</title><main><h1>Questions about tides</h1>
<h2>What is a neap tide?</h2><p>It is a tide that is lower than others, since the sun pulls against the moon.</p>
<dl><dt>How do I read a tide table?</dt><dd>Read it from left to right, and look at the heights below hours.</dd></dl>
<details><summary>Why are there two tides a day?</summary><p>The moon pulls at both sides of the earth.</p></details>
<h2>This is for</h2><p>A heading that ends in a function word is a part of a sentence, and no subject.</p></main>"""


def test_questions_of_headings_and_of_frequent_questions_are_suggested() -> None:
    drafted = decode_drafts(draft(encode_document(normalize(FAQ, url=URL).document)))
    sentences, owners = chain_input(drafted.drafts)
    made = make_statements(page_id(URL), drafted.drafts, owners, [Link()] * len(sentences))
    assert heading_texts(PageStatements(page_id(URL), URL, drafted.title, drafted.language, made)) == {
        "questions about tides",
        "what is a neap tide",
        "how do i read a tide table",
        "why are there two tides a day",
    }
