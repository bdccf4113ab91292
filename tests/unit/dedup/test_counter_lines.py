"""Lines that are counters of a page, and documents that differ by them only."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.dedup.counter_lines import differ_by_counters, is_counter
from streams.language.counters import BESIDE, COUNTED
from streams.language.relative_times import LANGUAGES
from streams.pages.document.model import Block, Document, Link, Span

COUNTERS = {
    "en": [
        "12 queries in 0.31 s",
        "1,204 views",
        "Viewed 3 times",
        "This page was last modified on 25 June 2025 at 14:03 UTC",
        "Updated: 2025-06-25T14:03:22Z",
        "5 users and 17 guests online now",
        "Page generated in 0.021 seconds",
        "3 hours ago",
        "Today is Saturday, 28 November 2026",
        "Current time: 14:03:22",
        "You are visitor number 1204",
        "Executed in 0.0123 seconds using 2.31MB memory",
        "Updated a few seconds ago",
        "Page generated in 0.31 s with 14 queries. Memory usage: 12 MB",
        "1.2k views · 34 comments",
    ],
    "de": [
        "12 Aufrufe",
        "Zuletzt aktualisiert am 25. Juni 2025 um 14:03 Uhr",
        "vor 3 Minuten",
        "Heute ist Samstag, 28. November 2026",
        "Sie sind der 1204. Besucher",
        "Seite in 0,31 Sekunden generiert",
    ],
    "fr": [
        "1 204 vues",
        "Mis à jour il y a 3 heures",
        "Dernière mise à jour le 25 juin 2025 à 14:03",
        "Page générée en 0,31 s",
    ],
    "es": [
        "1.204 visitas",
        "Actualizado hace 5 minutos",
    ],
    "pt": [
        "Publicado há 3 minutos",
        "1.204 visualizações",
    ],
    "ru": [
        "1 204 просмотра",
        "Обновлено 3 минуты назад",
        "Последнее обновление: 25 июня 2025",
    ],
    "zh": [
        "阅读 1204",
        "浏览量：1204次",
        "3分钟前更新",
        "最后更新于 2025年6月25日",
    ],
    "ja": [
        "閲覧数 1,204",
        "3分前に更新",
        "最終更新 2025年6月25日 14:03",
    ],
    "hi": [
        "3 घंटे पहले",
        "1,204 बार देखा गया",
    ],
    "ar": [
        "1204 مشاهدة",
        "قبل 3 دقائق",
        "آخر تحديث: 25 يونيو 2025",
    ],
    "bn": [
        "৩ ঘন্টা আগে",
        "১২০৪ বার দেখা হয়েছে",
    ],
    "ur": [
        "3 منٹ پہلے",
        "1204 مرتبہ دیکھا گیا",
    ],
    "id": [
        "Dilihat 1.204 kali",
        "3 menit yang lalu",
        "Diperbarui 3 jam lalu",
    ],
    "it": [
        "1.204 visualizzazioni",
        "Aggiornato 3 ore fa",
    ],
    "ko": [
        "조회수 1,204",
        "3분 전",
    ],
    "tr": [
        "1.204 görüntüleme",
        "3 dakika önce güncellendi",
    ],
    "nl": [
        "1.204 weergaven",
        "3 minuten geleden bijgewerkt",
    ],
    "pl": [
        "1204 wyświetlenia",
        "Zaktualizowano 3 godziny temu",
    ],
}
"""Counters, clocks and relative times: by language."""


@pytest.mark.parametrize(("line", "_language"), [(line, name) for name, lines in COUNTERS.items() for line in lines])
def test_a_line_of_counters_and_times(line: str, _language: str) -> None:
    assert is_counter(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "1,204",
        "25 June 2025",  # such as the day of a concert
        "Am 25. Juni 2025 um 20 Uhr",
        "Views",
        "12 views of the castle",
        "Updated price: 12",
        "Updated: $12",
        "5 likes, 40 %",
        "The dose was modified in 2025 to 12 mg",
        "Version 3.2 updated on 25 June 2025",
        "Score: 3 - 2",
        "12 items",
        "In stock: 12",
        "Heute 20 Uhr Konzert",
        "Spielstand 2:1 nach 90 Minuten",
        "3 Stunden Fahrt",
        "12 минут",  # such as the length of a film
        "Цена 1 204 руб.",
        "価格 1,204円",
        "价格：1204元",
        "السعر 1204 ريال",
        "मूल्य 1,204 रुपये",
        "3 views " * 20,
    ],
)
def test_a_line_that_says_more(line: str) -> None:
    assert not is_counter(line)


BESIDE_NAMES = [
    ("Posted 3 minutes ago by Anna", "Posted 14 minutes ago by Anna", True),
    ("Anna, an hour ago", "Anna, 2 hours ago", True),
    ("Anna, vor einer Stunde", "Anna, vor 2 Std.", True),
    ("Anne, il y a 3 min", "Anne, il y a une heure", True),
    ("Anna · 3分钟前", "Anna · 2小时前", True),
    ("Анна, 3 минуты назад", "Анна, 2 часа назад", True),
    ("Posted 3 minutes ago by Anna", "Posted 3 minutes ago by Berta", False),
    ("Posted 3 minutes ago: 12 rooms", "Posted 4 minutes ago: 13 rooms", False),
]


@pytest.mark.parametrize(("former", "present", "equal"), BESIDE_NAMES)
def test_a_relative_time_beside_a_name(former: str, present: str, equal: bool) -> None:
    assert differ_by_counters(document(former), document(present)) is equal
    spans = (Span(former.index(" "), len(former), "em"),)
    marked = replace(document(former), blocks=(Block("p", former, spans=spans),))
    assert not differ_by_counters(marked, document(present)), "a mark of the text counts"


SENTENCES = [
    "A pump costs {} in this shop.",
    "The concert is on {} June 2030 in Berlin.",
    "Die Pumpe kostet jetzt {} Euro.",
    "La pompe coûte {} euros et pèse {} kg.",
    "Матч закончился со счётом {}:1 в Москве.",
    "この部屋は{}平方メートルです。",
    "这台水泵的价格是{}元。",
    "तापमान {} डिग्री है।",
    "درجة الحرارة {} اليوم في القاهرة",
    "Take {} tablets, and no more within 24 hours.",
]


@given(st.sampled_from(SENTENCES), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_number_of_a_sentence_is_a_change(sentence: str, one: int, other: int) -> None:
    former, present = (document(sentence.replace("{}", str(number))) for number in (one, other))
    assert differ_by_counters(former, present) is (one == other)


def test_the_words_of_each_language_are_known() -> None:
    assert COUNTED.keys() == BESIDE.keys() == set(LANGUAGES)
    assert COUNTERS.keys() <= set(LANGUAGES)


def document(*lines: str) -> Document:
    return Document("https://a.example/", title="Pumps", blocks=tuple(Block("p", line) for line in lines))


FORMER = document("A pump costs 12.", "3 views")


@pytest.mark.parametrize(
    ("present", "equal"),
    [
        (document("A pump costs 12.", "4 views"), True),
        (replace(FORMER, links=(Link("https://a.example/2"),), language_confidence=0.5), True),
        (document("A pump costs 13.", "4 views"), False),
        (document("A pump costs 12.", "4 views", "5 comments"), False),
        (document("A pump costs 12."), False),
        (document("3 views", "A pump costs 12."), False),
        (replace(FORMER, title="Pipes"), False),
        (replace(FORMER, facts={"price": "13"}), False),
        (
            replace(FORMER, blocks=(Block("p", "A pump costs 12.", spans=(Span(2, 6, "link"),)), FORMER.blocks[1])),
            False,
        ),
    ],
)
def test_documents_that_differ_by_counters(present: Document, equal: bool) -> None:
    assert differ_by_counters(FORMER, present) == differ_by_counters(present, FORMER) == equal
    assert differ_by_counters(present, present)
