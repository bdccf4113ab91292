"""Texts that differ by a clock or a date which moved as the visits did, in the languages whose dates are read."""

import pytest

from streams.dedup.clocks import moved_with_visits
from streams.dedup.counter_lines import differ_by_counters
from streams.language.relative_times import LANGUAGES, RELATIVE_DAYS
from tests.unit.dedup.test_counter_lines import document

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0

# The former text, the present one, the time between the visits -> whether only a clock moved.
MOVED = [
    ("Server time: 12:31:04", "Server time: 13:02:10", 31 * MINUTE + 6, True),
    ("Server time: 12:31:04", "Server time: 12:33:04", 9 * DAY, True),  # the page is made a little before it is sent
    ("It is 11:50 pm", "It is 12:20 am", 30 * MINUTE, True),
    ("Saturday, 28 November 2026, 14:03", "Sunday, 29 November 2026, 14:05", DAY + 100, True),
    ("2026-11-28T14:03:22Z", "2026-11-28T15:03:20Z", HOUR, True),
    ("Now: 28.11.2026 23:59", "Now: 29.11.2026 00:29", 30 * MINUTE, True),
    # Bare dates, by language.
    ("25 June 2025", "27 June 2025", 2 * DAY, True),
    ("2025年6月25日", "2025年6月28日", 3 * DAY, True),
    ("2025年6月25日 星期三", "2025年6月26日 星期四", DAY, True),
    ("२५ जून २०२५", "२६ जून २०२५", DAY, True),
    ("25 de junio de 2025", "26 de junio de 2025", DAY, True),
    ("25 يونيو 2025", "26 يونيو 2025", DAY, True),
    ("mercredi 25 juin 2025", "jeudi 26 juin 2025", DAY, True),
    ("১৫ জুন ২০২৫", "১৬ জুন ২০২৫", DAY, True),
    ("25 de junho de 2025", "26 de junho de 2025", DAY, True),
    ("25 июня 2025 г.", "26 июня 2025 г.", DAY, True),
    ("25 جون 2025", "26 جون 2025", DAY, True),
    ("25 Juni 2025", "26 Juni 2025", DAY, True),
    ("Samstag, den 28. November 2026", "Sonntag, den 29. November 2026", DAY, True),
    ("2025年6月25日", "2025年6月26日", DAY, True),
    ("25 giugno 2025", "1 luglio 2025", 6 * DAY, True),
    ("2025년 6월 25일", "2025년 6월 26일", DAY, True),
    ("25 Haziran 2025", "26 Haziran 2025", DAY, True),
    ("25 juni 2025", "26 juni 2025", DAY, True),
    ("25 czerwca 2025", "26 czerwca 2025", DAY, True),
    ("ngày 25 tháng 6 năm 2025", "ngày 26 tháng 6 năm 2025", DAY, True),
    ("۲۵ ژوئن ۲۰۲۵", "۲۶ ژوئن ۲۰۲۵", DAY, True),
    ("25/06/2025", "26/06/2025", DAY, True),
    ("06/12/2025", "06/13/2025", DAY, True),
    # A time that did not move as the visits did: somebody changed it.
    ("Server time: 12:31:04", "Server time: 12:31:04 UTC", HOUR, False),
    ("Open from 9:00", "Open from 10:00", 9 * DAY, False),
    ("25 June 2025", "26 June 2025", 9 * DAY, False),
    ("25 June 2025", "25 July 2025", HOUR, False),
    ("The concert is on 12 June 2030 in Berlin.", "The concert is on 13 June 2030 in Berlin.", 9 * DAY, False),
    # Another word or number changed, too.
    ("Server time: 12:31:04", "Local time: 13:31:04", HOUR, False),
    ("25 June 2025, by Anna", "26 June 2025, by Berta", DAY, False),
    ("12 users on 25 June 2025", "13 users on 26 June 2025", DAY, False),
    ("A pump costs 12", "A pump costs 13", DAY, False),
    ("Version 3.2", "Version 3.3", DAY, False),
    ("", "12:00", HOUR, False),
]


@pytest.mark.parametrize(("former", "present", "seconds", "moved"), MOVED)
def test_a_time_that_moved_with_the_visits(former: str, present: str, seconds: float, moved: bool) -> None:
    assert moved_with_visits(former, present, seconds) is moved
    pages = document("A pump costs 12.", former), document("A pump costs 12.", present)
    assert differ_by_counters(*pages, seconds) is moved


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_for_today_and_yesterday_are_relative_times(language: str) -> None:
    today, yesterday, now = RELATIVE_DAYS[language].replace("aujourd’hui|", "").replace("dziś|", "").split("|")
    for one, other in ((today, yesterday), (yesterday, now)):
        assert differ_by_counters(document(f"Anna, {one}"), document(f"Anna, {other}"))
        assert not differ_by_counters(document(f"Anna, {one}"), document(f"Berta, {other}"))
