"""Dates of servers and sitemaps: the forms of the standards, forms that are common, and texts that are no dates."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.web_dates import parse_any_date, parse_date

W3C = [
    ("2026", "2026-01-01T00:00:00+00:00", "a year: its begin"),
    ("2026-03", "2026-03-01T00:00:00+00:00", "a month: its begin"),
    ("2026-03-04", "2026-03-04T23:59:59+00:00", "a day: its end"),
    ("2026-03-04T10:20+01:00", "2026-03-04T10:20:00+01:00", "minutes and a zone"),
    ("2026-03-04T10:20:30Z", "2026-03-04T10:20:30+00:00", "seconds"),
    ("2026-03-04T10:20:30.5Z", "2026-03-04T10:20:30.500000+00:00", "a fraction"),
    ("2026-03-04T10:20:30.123456789Z", "2026-03-04T10:20:30.123456+00:00", "a fraction of nanoseconds"),
    ("2026-03-04t10:20:30z", "2026-03-04T10:20:30+00:00", "small letters (RFC 3339, 5.6)"),
    ("2026-03-04 10:20:30", "2026-03-04T10:20:30+00:00", "a space, and no zone"),
    ("2026-03-04T10:20:30+0100", "2026-03-04T10:20:30+01:00", "an offset without a colon"),
    ("2026-03-04T10:20:30 +01:00", "2026-03-04T10:20:30+01:00", "a space before the offset"),
    ("2026-03-04T10:20:30-05", "2026-03-04T10:20:30-05:00", "an offset of hours"),
    ("2026-03-04 10:20:30 UTC", "2026-03-04T10:20:30+00:00", "the zone by its name"),
    ("2026-12-31T23:59:60Z", "2026-12-31T23:59:59+00:00", "a leap second (RFC 3339, 5.7)"),
    ("2026-3-4", "2026-03-04T23:59:59+00:00", "no leading zeros"),
    ("2026/03/04", "2026-03-04T23:59:59+00:00", "slashes"),
    ("2026-3-4 9:05", "2026-03-04T09:05:00+00:00", "no leading zeros in the hour"),
    ("20260304T102030Z", "2026-03-04T10:20:30+00:00", "the basic form of ISO 8601"),
    ("\n 2026-03-04\t", "2026-03-04T23:59:59+00:00", "white space around"),
]
RFC = [
    ("Wed, 04 Mar 2026 10:20:30 GMT", "2026-03-04T10:20:30+00:00", "RFC 822 and 9110"),
    ("04 Mar 26 10:20 EST", "2026-03-04T10:20:00-05:00", "RFC 822: two digits of the year, a zone of North America"),
    ("Wednesday, 04-Mar-26 10:20:30 GMT", "2026-03-04T10:20:30+00:00", "RFC 850"),
    ("Wed Mar  4 10:20:30 2026", "2026-03-04T10:20:30+00:00", "asctime"),
]
OTHER = [
    ("Mar 4, 2026", "2026-03-04T00:00:00+00:00", "the month first"),
    ("4th March 2026 3pm EST", "2026-03-04T15:00:00-05:00", "words and half days"),
    ("25.12.2026", "2026-12-25T00:00:00+00:00", "numbers with one reading"),
]
NONE = ["", "yesterday", "2026-13-45", "26", "99999-01-01", "9" * 50_000, "03/04", "Thu", "-", "2026-02-30", "T10:20"]


@pytest.mark.parametrize(("text", "iso"), [case[:2] for case in W3C + RFC], ids=[case[2] for case in W3C + RFC])
def test_the_forms_of_the_standards(text: str, iso: str) -> None:
    assert parse_date(text) == datetime.fromisoformat(iso)


@pytest.mark.parametrize(("text", "iso"), [case[:2] for case in OTHER], ids=[case[2] for case in OTHER])
def test_other_forms_with_one_reading(text: str, iso: str) -> None:
    assert parse_any_date(text) == datetime.fromisoformat(iso)


@pytest.mark.parametrize("text", [*NONE, "03/04/2026"])
def test_what_is_no_date(text: str) -> None:
    assert parse_date(text) is None
    assert parse_any_date(text) is None


@given(st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2200, 1, 1), timezones=st.timezones()))
def test_each_time_is_read_as_it_was_written(moment: datetime) -> None:
    offset = moment.utcoffset() or timedelta()
    # With the offset alone: no two zones agree on a time that the clocks of one of them skip in spring (PEP 495).
    at = moment.replace(microsecond=0, tzinfo=timezone(offset))
    if offset.total_seconds() % 60 == 0:
        assert parse_date(at.isoformat()) == at
        assert parse_date(at.strftime("%a, %d %b %Y %H:%M:%S %z")) == at


@given(st.text(max_size=70) | st.text(st.sampled_from("0123456789 ,:+-/.MonJanAugZGTpm"), max_size=45))
def test_any_text_can_be_asked(text: str) -> None:
    for found in (parse_date(text), parse_any_date(text)):
        assert found is None or found.tzinfo is not None
