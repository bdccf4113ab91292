"""The age of a page's text over its fetches: no chain of changes makes a new text old."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from schemas.ids import page_id
from streams.dedup.first_sight import inherit, is_text_of, known_sights, own_sight, see_text, site_sight
from streams.stores.protocols import Fingerprint, Sight

URL = "https://a.example/"
HASHES = 64
FIRST = Fingerprint(page_id(URL), "hash", 0, URL, 1, first_seen=0, words=100, sketch=bytes(HASHES))


@st.composite
def fetched_texts(draw: st.DrawFn) -> list[bytes]:
    """Sketches of a page's texts: from fetch to fetch some of the hashes change, or come back."""
    texts = [bytes(HASHES)]
    for number in range(1, draw(st.integers(2, 14))):
        begin, count = draw(st.integers(0, HASHES - 1)), draw(st.sampled_from([0, 2, 6, 10, 20, HASHES]))
        former = bytearray(draw(st.sampled_from(texts[-3:])))
        for place in range(begin, begin + count):
            former[place % HASHES] = number
        texts.append(bytes(former))
    return texts


@given(fetched_texts())
def test_a_page_is_as_old_as_the_oldest_similar_text_that_it_had_at_most(texts: list[bytes]) -> None:
    page = FIRST
    for at, text in enumerate(texts):
        page = see_text(replace(page, sketch=text), at, known_sights(page) if at else ())
        similar = [before for before in range(at + 1) if is_text_of(Sight(texts[before], before), page)]
        assert page.first_seen >= min(similar)
        assert own_sight(page).at == page.first_seen


def test_another_text_begins_its_age_anew() -> None:
    changed = see_text(replace(FIRST, sketch=bytes(range(HASHES))), 7, known_sights(FIRST))
    assert (changed.first_seen, own_sight(changed).at, site_sight(changed).at) == (7, 7, 7)
    back = see_text(replace(changed, sketch=FIRST.sketch), 9, known_sights(changed))
    assert (back.first_seen, own_sight(back).at) == (0, 0), "the former text is as old as before"


@given(fetched_texts())
def test_no_page_inherits_the_age_of_another_text(texts: list[bytes]) -> None:
    sights = [Sight(text, at, is_own=bool(at % 2)) for at, text in enumerate(texts)]
    heir = inherit(replace(FIRST, sketch=texts[-1], first_seen=len(texts)), sights)
    assert all(is_text_of(sight, heir) for sight in heir.inherited)
    similar = [sight.at for sight in sights if is_text_of(sight, heir)]
    assert min(own_sight(heir).at, site_sight(heir).at) == min(similar)
