"""A few words in a page that declares no encoding are enough to tell East Asian, Cyrillic and Latin tables apart."""

import pytest

from streams.pages.normalize import normalize
from streams.pages.sandbox.normalizing import read_document

SHORT = [
    # codec, texts beside the numbers of a table
    ("cp932", "単位表 お知らせ 駅前の本屋 営業時間 品番・価格 カレーライス ﾃﾞｰﾀﾌｧｲﾙ ﾎﾟｰﾄ一覧"),
    ("euc_jp", "単位表 お知らせ 駅前の本屋 営業時間 品番・価格 カレーライス 新着情報"),
    ("gbk", "最新消息 营业时间 欢迎来到我们的网站 电话号码 联系我们 公司简介 北京市朝阳区"),
    ("big5", "最新消息 營業時間 產品價格 電話號碼 歡迎光臨 聯絡我們 公司簡介 臺北市中正區"),
    ("euc_kr", "공지사항 영업시간 제품가격 전화번호 연락처 고객센터 자료실 서울시종로구"),
    ("cp1251", "Новости Телефон Стоимость Контакты Добро"),
    ("koi8-r", "Новости Телефон Стоимость Контакты Добро"),
    ("cp1252", "Öffnungszeiten Größe Été École À Ça São Niño naïve £5 30°C m² ÜBER"),
    ("utf-8", "単位表 营业时间 공지사항 Новости Größe"),
]
WORDS = [(codec, word) for codec, words in SHORT for word in words.split()]


@pytest.mark.parametrize(("codec", "word"), WORDS)
def test_one_word_in_a_table_of_numbers(codec: str, word: str) -> None:
    page = f"<title>{word} 2013</title><table><tr><th>A00-B99<td>{word}<tr><th>C00-D48<td>12</table>"
    assert normalize(page.encode(codec), url="https://site.example/").document.title == f"{word} 2013"


MIXED = [
    ("words in ASCII beside it", "cp932", "<title>PHP 5.2 入門編</title><p>The manual, in Japanese"),
    ("a table of half-width kana", "cp932", "<title>ﾎﾟｰﾄ</title><td>ｶﾝｼﾞ 12</td><td>ｻｲｽﾞ 3</td>"),
    ("a declaration counts more", "euc_jp", "<meta charset=euc-jp><title>新着</title>"),
    (
        "a false declaration of UTF-8 counts as one of Latin-1",
        "cp1252",
        "<meta charset=iso-8859-1><title>Größe</title>",
    ),
    ("signs of a Western page", "cp1252", "<title>© 2004 – “Tides” at 3 × 4 m, ±½</title>"),
    ("a point between two letters", "cp1252", "<title>Paral·lel: la col·lecció</title>"),
    ("a name in capitals", "cp1252", "<title>MÜLLER & SÖHNE</title>"),
]


@pytest.mark.parametrize(("why", "codec", "page"), MIXED)
def test_other_evidence(why: str, codec: str, page: str) -> None:
    title = page.partition("<title>")[2].partition("</title>")[0]
    assert normalize(page.encode(codec), url="https://site.example/").document.title == title, why


def test_plain_text_and_markdown_are_judged_likewise() -> None:
    for kind, body in (
        ("text/plain", "営業時間\n\n駅前の本屋は9:00から"),
        ("text/markdown", "# 営業時間\n\n駅前の本屋"),
    ):
        page = read_document(body.encode("cp932"), url="https://site.example/a", headers={"content-type": kind})
        assert page.document.title == "営業時間"
