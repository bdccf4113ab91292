"""Dates in many languages and forms, with times and zones."""

import pytest

from streams.language.months import MONTH_NAMES, MONTHS, fold_name
from streams.pages.normalize import normalize
from streams.pages.text.dates import iso_date


@pytest.mark.parametrize(
    ("why", "text", "date"),
    [
        ("an hour alone is a zone", "2024-03-01T10:00:00+01", "2024-03-01T10:00:00+01:00"),
        ("where it stands by itself it is none", "2024-03-01 10:00 -12 comments", "2024-03-01T10:00:00"),
        ("a zone with its minutes", "2024-03-01 10:00:00 -0330", "2024-03-01T10:00:00-03:30"),
        ("small letters", "2024-03-01t10:00z", "2024-03-01T10:00:00+00:00"),
        ("hours that no zone is away", "2024-03-01T10:00:00+25:99", "2024-03-01T10:00:00"),
        ("minutes that no zone has", "2024-03-01T10:00:00+01:07", "2024-03-01T10:00:00"),
        ("after noon", "2024-03-01 10:00 PM", "2024-03-01T22:00:00"),
        ("after midnight", "March 1, 2024 12:05 a.m.", "2024-03-01T00:05:00"),
        ("noon, and a zone", "March 1, 2024 at 12:05 pm EST", "2024-03-01T12:05:00-05:00"),
        ("an hour past noon anyway", "2024-03-01 22:00 PM", "2024-03-01T22:00:00"),
        ("a zone's name", "2024-03-01 10:00:00 EST", "2024-03-01T10:00:00-05:00"),
        ("in summer", "2024-07-01 10:00 CEST", "2024-07-01T10:00:00+02:00"),
        ("in Japan", "2024-07-01 10:00 JST", "2024-07-01T10:00:00+09:00"),
        ("a name of many zones", "2024-03-01 10:00:00 IST", "2024-03-01T10:00:00"),
        ("a word that looks like one", "2024-03-01 10:00 est en ligne", "2024-03-01T10:00:00"),
        ("from UTC", "1 March 2024 10:00 UTC+2", "2024-03-01T10:00:00+02:00"),
        ("as JavaScript writes it", "Fri Mar 01 2024 10:00:00 GMT+0100 (CET)", "2024-03-01T10:00:00+01:00"),
        ("as mail has it", "Fri, 01 Mar 2024 10:00:00 GMT", "2024-03-01T10:00:00+00:00"),
        ("no zone is given: none is made up", "1 March 2024, 10:00", "2024-03-01T10:00:00"),
        ("no time of day", "2024-03-01 25:00", "2024-03-01"),
        ("a time that isn't the date's", "March 1, 2024 | 3:45 video", "2024-03-01"),
        ("basic form", "20240301T100000Z", "2024-03-01T10:00:00+00:00"),
        ("basic form with an offset", "20240301T1000+0100", "2024-03-01T10:00:00+01:00"),
        ("basic form without separator", "20240301100000", "2024-03-01T10:00:00"),
        ("a number that goes on", "20240301123456789", ""),
        ("slashes and a time", "2024/03/01 10:00", "2024-03-01T10:00:00"),
        ("a day behind colons is a minute", "10:30 March 2024", ""),
        ("hyphens", "01-Mar-2024", "2024-03-01"),
        ("no space", "1.März 2024", "2024-03-01"),
        ("a year first", "2024 March 1", "2024-03-01"),
        ("an earlier word and number", "Room 12 of 40, 5 May 2024", "2024-05-05"),
        ("no month", "3 posts 2024", ""),
        ("a year of the Buddhist era elsewhere", "1 March 2567", ""),
        ("as C's ctime writes it", "Tue Mar  5 14:22:31 2013", "2013-03-05T14:22:31"),
        ("with a zone before the year", "Tue Mar 5 14:22:31 CET 2013", "2013-03-05T14:22:31+01:00"),
        ("with an offset there", "Tue Mar 5 14:22:31 -0330 2013", "2013-03-05T14:22:31-03:30"),
        ("numbers with hyphens", "05-31-2024", "2024-05-31"),
        ("a number of a version", "1.10-12-2024", ""),
    ],
)
def test_times_and_zones(why: str, text: str, date: str) -> None:
    assert iso_date(text) == date, why


@pytest.mark.parametrize(
    ("why", "attribute", "text", "date"),
    [
        ("no language: as in the United States", "", "", "2024-05-04"),
        ("English", "lang=en", "", "2024-05-04"),
        ("British English", "lang=en-GB", "", "2024-04-05"),
        ("a region that CLDR does not have", "lang=en-QQ", "", "2024-05-04"),
        ("French", "lang=fr", "", "2024-04-05"),
        ("Brazilian Portuguese", "lang=pt-BR", "", "2024-04-05"),
        ("no language at all", "lang='!!'", "", "2024-05-04"),
        ("another date of the page says it", "lang=en", "<p>Open until 31/12/2024", "2024-04-05"),
        ("also against the language", "lang=en-GB", "<p>Open until 12/31/2024", "2024-05-04"),
        ("a date with dots says nothing of slashes", "lang=en", "<p>Open until 31.12.2024", "2024-05-04"),
    ],
)
@pytest.mark.parametrize("where", ["<meta name=date content=05/04/2024><h1>A", "<h1>A</h1><p>05-04-2024"])
def test_the_order_of_day_and_month(why: str, attribute: str, text: str, date: str, where: str) -> None:
    page = f"<html {attribute}><body>{where}<p>Some text of the page.{text}"
    assert normalize(page, url="https://a.example/").document.facts.get("published") == date, why


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("English", "5th of May 2024"),
        ("English", "May the 5th, 2024"),
        ("German", "5. Mai 2024"),
        ("French", "le 5 mai 2024"),
        ("Spanish", "5 de mayo de 2024"),
        ("Spanish", "5 de mayo del 2024"),
        ("Portuguese", "5º de maio de 2024"),
        ("Italian", "5 maggio 2024"),
        ("Dutch", "5 mei 2024"),
        ("Danish", "5. maj 2024"),
        ("Norwegian", "5. mai 2024"),
        ("Swedish", "5 maj 2024"),
        ("Finnish", "5. toukokuuta 2024"),
        ("Polish", "5 maja 2024 r."),
        ("Czech", "5. května 2024"),
        ("Hungarian", "2024. május 5."),
        ("Hungarian", "2024. máj. 5."),
        ("Romanian", "5 mai 2024"),
        ("Turkish", "5 Mayıs 2024"),
        ("Turkish, in capitals", "5 MAYIS 2024"),
        ("Indonesian", "5 Mei 2024"),
        ("Greek", "5 Μαΐου 2024"),
        ("Greek, in capitals", "5 ΜΑΪΟΥ 2024"),
        ("Russian", "5 мая 2024 г."),
        ("Russian", "5-го мая 2024"),
        ("Ukrainian", "5 травня 2024 року"),
        ("Arabic", "5 مايو 2024"),
        ("Arabic, its digits and its comma", "٥ مايو، ٢٠٢٤"),
        ("Arabic, a mark of direction", "\u200f5\u200f مايو 2024"),
        ("Thai, its era", "5 พฤษภาคม 2567"),
        ("Thai, its era named", "5 พฤษภาคม พ.ศ. 2567"),
        ("Thai, abbreviated", "5 พ.ค. 2567"),
        ("Thai, the common era", "5 พฤษภาคม 2024"),
        ("Chinese", "发布于2024年5月5日"),
        ("Chinese", "2024 年 05 月 05 日"),
        ("Japanese, its digits", "２０２４年５月５日公開"),
        ("Korean", "2024년 5월 5일"),
        ("Korean", "2024. 05. 05."),
    ],
)
def test_languages(language: str, text: str) -> None:
    assert iso_date(text) == "2024-05-05", language


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("1er janvier 2024", "2024-01-01"),
        ("1 sty 2024", "2024-01-01"),
        ("1η Ιανουαρίου 2024", "2024-01-01"),
        ("1 มี.ค. 2567", "2024-03-01"),
        ("1 ม.ค. 2567", "2024-01-01"),
        ("1. červenec 2024", "2024-07-01"),
        ("1. června 2024", "2024-06-01"),
        ("1 fe\u0301vrier 2024", "2024-02-01"),
        ("2024年3月1日 10:20", "2024-03-01T10:20:00"),
        ("2024年3月1日10:20:30", "2024-03-01T10:20:30"),
        ("2024年3月1日 下午 3:20", "2024-03-01T15:20:00"),
        ("2024년 3월 1일 오전 12:20", "2024-03-01T00:20:00"),
        ("1 марта 2024, 10:20", "2024-03-01T10:20:00"),
    ],
)
def test_months_and_times_in_languages(text: str, date: str) -> None:
    assert iso_date(text) == date


@pytest.mark.parametrize("language", MONTH_NAMES)
def test_every_language_has_twelve_months_and_no_name_has_two_numbers(language: str) -> None:
    months = MONTH_NAMES[language].split()
    assert len(months) == 12
    assert all(MONTHS[fold_name(name)] == number for number, same in enumerate(months, 1) for name in same.split("|"))


LABELS = [
    (
        "of an article of a journal",
        "<p>Received: 3 March 2020<p>Accepted: 7 May 2020<p>Published: 5 April 2024",
        "2024-04-05",
    ),
    ("of a festival", "<p>Starts: 12 May 2019<p>Posted on 5 April 2018", "2018-04-05"),
    ("a label that is not known may be the page's", "<p>Julkaistu: 5.4.2024", "2024-04-05"),
    ("a date without a label behind it says no more", "<p>Datum: 5 April 2024<p>12 May 2019", "2024-04-05"),
    ("since when an author is a member", "<p>Ada Autor<p>Joined May 12, 2019<p>5 April 2024", "2024-04-05"),
    ("of a member alone", "<p>Member since May 12, 2019", None),
    ("in an element of its own", "<p>Mitglied seit <time datetime=2019-05-12>gestern</time>", None),
    ("behind a label in a block of its own", "<dl><dt>Membre depuis<dd>12/05/2019</dl>", None),
    ("behind the page's date", "<p>5 April 2024, Ada Autor, joined 12 May 2019", "2024-04-05"),
    ("a byline comes first", "<p>Ada Autor, 5 April 2024<p>Published: 7 May 2020", "2024-04-05"),
]


@pytest.mark.parametrize(("why", "lines", "date"), LABELS)
def test_a_date_that_is_named_as_the_pages_is_better_than_another_label(why: str, lines: str, date: str | None) -> None:
    page = f"<html lang=en-GB><h1>Tides</h1>{lines}<p>Some text of the page that goes on for a while."
    assert normalize(page, url="https://a.example/").document.facts.get("published") == date, why
