"""The payload of a click: it opens only as it was made, with its key, for a day."""

from base64 import urlsafe_b64decode
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.gateway.clicks.links import MAX_AGE, Click, InvalidLink, open_click, seal_click
from streams.gateway.http.keys import derive_keys

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
NONCE = bytes(range(12))
OLD, NEW = "o" * 32, "n" * 32
(KEY,) = derive_keys([OLD], "clicks")
CLICK = Click("ab" * 16, UUID(int=7), 3, NOW, "https://sqlite.org/wal.html#:~:text=log")


@given(
    st.binary(min_size=16, max_size=16),
    st.uuids(),
    st.integers(1, 500),
    st.text(max_size=200),
    st.binary(min_size=12, max_size=12),
)
def test_a_payload_opens_as_it_was_sealed(query: bytes, page: UUID, rank: int, path: str, nonce: bytes) -> None:
    click = Click(query.hex(), page, rank, NOW, f"https://a.example/{path}".encode("utf-8", "ignore").decode())
    assert open_click(seal_click(click, KEY, nonce), [KEY], NOW) == click


@given(st.data())
def test_a_changed_payload_leads_nowhere(data: st.DataObject) -> None:
    payload = seal_click(CLICK, KEY, NONCE)
    place = data.draw(st.integers(0, len(payload) - 1))
    char = data.draw(st.sampled_from("AZaz09-_"))
    changed = payload[:place] + char + payload[place + 1 :]
    if urlsafe_b64decode(changed + "=") == urlsafe_b64decode(payload + "="):
        return
    with pytest.raises(InvalidLink) as error:
        open_click(changed, [KEY], NOW)
    assert error.value.fault in ("tampered", "foreign")


@given(st.text(max_size=300))
def test_any_other_text_leads_nowhere(text: str) -> None:
    with pytest.raises(InvalidLink):
        open_click(text, [KEY], NOW)


@pytest.mark.parametrize(
    ("age", "opens"), [(MAX_AGE, True), (MAX_AGE + timedelta(seconds=1), False), (timedelta(hours=-1), False)]
)
def test_a_payload_is_valid_for_a_day(age: timedelta, opens: bool) -> None:
    payload = seal_click(CLICK, KEY, NONCE)
    if opens:
        assert open_click(payload, [KEY], NOW + age) == CLICK
        return
    with pytest.raises(InvalidLink) as error:
        open_click(payload, [KEY], NOW + age)
    assert error.value.fault == "expired"


def test_a_former_key_still_opens_and_a_foreign_one_does_not() -> None:
    payload = seal_click(CLICK, KEY, NONCE)
    assert open_click(payload, derive_keys([NEW, OLD], "clicks"), NOW) == CLICK
    with pytest.raises(InvalidLink) as error:
        open_click(payload, derive_keys([NEW], "clicks"), NOW)
    assert error.value.fault == "foreign"


def test_each_use_has_its_own_key() -> None:
    assert derive_keys([OLD], "clicks")[0] != derive_keys([OLD], "preferences")[0]
