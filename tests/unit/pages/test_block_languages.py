# ruff: noqa: E501 - pages as they come
"""The language of each block of a document: as the page declares it, else as its words show."""

from streams.pages.html import to_html
from streams.pages.normalize import normalize

URL = "https://site.example/page"
ENGLISH = (
    "The house stands at the end of the road, and nobody has lived there since the old man moved away with his wife."
)
GERMAN = "Das Haus steht am Ende der Straße, und niemand wohnt dort, seit der alte Mann mit seiner Frau weggezogen ist."
PAGE = f"""<html lang=en><title>Houses</title><main><h1>Houses</h1><p>{ENGLISH * 8}</p><p>{GERMAN}</p><p lang=gsw>{GERMAN}</p>
<p lang=en>{GERMAN}</p><blockquote>{GERMAN}</blockquote><pre>{GERMAN}</pre><p>Где ты сейчас?</p><p>{ENGLISH}</p></main>"""


def test_blocks_in_another_language_say_so_and_what_the_page_declares_is_left() -> None:
    document = normalize(PAGE, url=URL).document
    assert document.language == "en"
    assert [(block.text[:9], block.language) for block in document.blocks] == [
        ("Houses", ""),
        ("The house", ""),
        ("Das Haus ", "de"),
        ("Das Haus ", "gsw"),  # declared
        ("Das Haus ", ""),  # declared to be English: the page's word
        ("Das Haus ", "de"),
        ("Das Haus ", ""),  # of a pre, the language is that of its code
        ("Где ты се", "ru"),
        ("The house", ""),
    ]


def test_the_languages_of_blocks_come_back_from_html() -> None:
    document = normalize(PAGE, url=URL).document
    assert normalize(to_html(document), url=URL).document == document
