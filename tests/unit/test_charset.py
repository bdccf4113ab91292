# ruff: noqa: E501 - texts as they come
"""Encodings that are declared, that are not declared, and that are declared falsely."""

import pytest
from webencodings import LABELS

from streams.charset import declared_encoding, decode, decode_utf8

TEXTS = {
    "gbk": "房子在路的尽头，自从老人和他的妻子搬走以后，就再也没有人住在那里了。昨天下午，市民在公园散步。",
    "big5": "房子在路的盡頭，自從老人和他的妻子搬走以後，就再也沒有人住在那裡了。歡迎來電洽詢各種電腦零件。",
    "shift_jis": "昨日、東京都内で開かれた会議で、新しい計画の内容が発表されました。お気軽にお問い合わせください。",
    "euc_jp": "昨日、東京都内で開かれた会議で、新しい計画の内容が発表されました。お気軽にお問い合わせください。",
    "euc_kr": "집은 길 끝에 서 있고, 노인과 그의 아내가 떠난 뒤로 아무도 그곳에 살지 않았다.",
    "cp1251": "Дом стоит в конце дороги, и никто в нём не живёт с тех пор, как старик и его жена переехали в город.",
    "koi8_r": "Дом стоит в конце дороги, и никто в нём не живёт с тех пор, как старик и его жена переехали в город.",
    "cp1253": "Το σπίτι βρίσκεται στο τέλος του δρόμου και κανείς δεν έχει ζήσει εκεί από τότε που ο γέρος έφυγε.",
    "cp1256": "يقع المنزل في نهاية الطريق ولم يسكنه أحد منذ أن انتقل الرجل العجوز وزوجته إلى المدينة البعيدة.",
    "cp874": "บ้านตั้งอยู่ปลายถนน และไม่มีใครอาศัยอยู่ที่นั่นตั้งแต่ชายชราและภรรยาย้ายออกไป",
}
WESTERN = [
    "Die größte Überraschung für die Bürger: Öffentliche Gebäude müssen früher schließen, außer für ältere Gäste.",
    "L'été dernier, les élèves ont été très occupés à préparer la fête de fin d'année à l'école près de la forêt.",
    "Não há informações sobre a situação da região, mas as autoridades estão à disposição da população, então.",
    "Name\xa0\xa0\xa0\xa0\xa0\xa0\xa0Größe\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0\xa0Fläche",
]


def page(text: str, head: str = "") -> str:
    return f"<html><head>{head}<title>ACME</title></head><body class=x><a href=/>Home</a><p>{text}</p><p>Copyright 2004</body>"


@pytest.mark.parametrize("encoding", TEXTS)
@pytest.mark.parametrize("header", ["", "text/html; charset=iso-8859-1", "text/html; charset=utf-8"])
def test_other_alphabets_are_recognised(encoding: str, header: str) -> None:
    """The encoding is not declared, or declared as Latin-1 or UTF-8, as many servers do for all pages."""
    html = page(TEXTS[encoding])
    assert decode(html.encode(encoding), header) == html


@pytest.mark.parametrize(("header", "encoding"), [("euc-jp", "shift_jis"), ("utf-16", "gbk"), ("shift_jis", "cp1251")])
def test_a_declaration_that_the_bytes_contradict_is_ignored(header: str, encoding: str) -> None:
    html = page(TEXTS[encoding])
    assert decode(html.encode(encoding), f"text/html; charset={header}") == html


@pytest.mark.parametrize("text", WESTERN)
@pytest.mark.parametrize("header", ["", "text/html; charset=iso-8859-1"])
def test_western_texts_stay_western(text: str, header: str) -> None:
    assert decode(page(text).encode("cp1252"), header) == page(text)


def test_one_invalid_byte_does_not_change_a_declared_encoding() -> None:
    html = page(TEXTS["cp1251"])
    assert decode(html.encode() + b"<p>\xe9", "text/html; charset=utf-8") == html + "<p>\ufffd"
    with_meta = page(TEXTS["euc_jp"], "<meta charset=euc-jp>")
    assert decode(with_meta.encode("euc_jp") + b"<p>\xff", "") == with_meta + "<p>\ufffd"


@pytest.mark.parametrize(
    ("why", "content", "header", "text"),
    [
        ("declared in the page", b"<meta charset=iso-2022-jp><p>\x1b$B:#F|$N\x1b(B.", "", "<meta charset=iso-2022-jp><p>今日の."),
        ("declared by the server", b"<p>\x1b$@:#F|\x1b(J.", "text/html; charset=ISO-2022-JP", "<p>今日."),
        ("half-width letters", b"<p>\x1b(I1\x1b(B.", "text/html; charset=ISO-2022-JP", "<p>ｱ."),
        ("not declared, but nothing else has such escapes", b"<p>\x1b$B:#F|$N\x1b(B.", "", "<p>今日の."),
        ("another encoding is declared", b"<meta charset=utf-8><p>\x1b$B", "", "<meta charset=utf-8><p>\x1b$B"),
        ("declared, but UTF-8", "<p>今日".encode(), "text/html; charset=iso-2022-jp", "<p>今日"),
        ("an escape of something else", b"<p>\x1b[0m", "", "<p>\x1b[0m"),
        ("no UTF-16 without markup in it", b"<p>caf\xe9 noir", "text/html; charset=utf-16", "<p>café noir"),
        ("nor over UTF-8", "<p>café".encode(), "text/html; charset=utf-16", "<p>café"),
        ("then the page is asked", b"<meta charset=koi8-r><p>\xed\xc9\xd2", "text/html; charset=utf-16", "<meta charset=koi8-r><p>Мир"),
        ("UTF-16 without a mark", "\n<p>今日".encode("utf-16-le"), "text/html; charset=utf-16", "\n<p>今日"),
        ("the other byte first", "\n<p>今日".encode("utf-16-be"), "text/html; charset=utf-16be", "\n<p>今日"),
        ("UTF-16 that nobody declared", "<p>é".encode("utf-16-le"), "", "<p>é"),
        ("declared in a comment", b"<!-- <meta charset=koi8-r> --><p>\xe9", "", "<!-- <meta charset=koi8-r> --><p>é"),
        ("behind comments", b"<!--><!---><meta charset=koi8-r><p>\xed", "", "<!--><!---><meta charset=koi8-r><p>М"),
        ("in a comment that isn't closed", b"<!-- <meta charset=koi8-r><p>\xe9", "", "<!-- <meta charset=koi8-r><p>é"),
        ("the first that is known", b"<meta charset=x-no><meta charset=koi8-r>\xed", "", "<meta charset=x-no><meta charset=koi8-r>М"),
        ("a maker's sign in EUC-JP", b"<meta charset=euc-jp>\xad\xa1", "", "<meta charset=euc-jp>①"),
    ],
)  # fmt: skip
def test_what_bytes_are(why: str, content: bytes, header: str, text: str) -> None:
    assert decode(content, header) == text, why
    assert decode_utf8(content, header) == (text, text.encode()), why


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("x-euc-jp", "euc_jis_2004"),
        ("x-cp1251", "cp1251"),
        ("iso-8859-8-i", "iso8859-8"),
        ("x-mac-cyrillic", "mac-cyrillic"),
        ("windows-949", "cp949"),
        ("ks_c_5601-1989", "cp949"),
        ("gb_2312", "gb18030"),
        ("iso88591", "cp1252"),
        ("latin5", "cp1254"),
        ("l5", "cp1254"),
        ("l1", "cp1252"),
        ("koi8-u", "koi8-u"),
        ("dos-874", "cp874"),
        ("unicode-1-1-utf-8", "utf-8"),
        ("base64", ""),
    ],
)
def test_labels(label: str, name: str) -> None:
    assert declared_encoding(b"", f"text/html; charset={label.upper()}") == name


def test_every_label_of_the_standard_has_a_codec() -> None:
    """The labels of the standard's "replacement" are labels of encodings that are unsafe to decode."""
    without = {label for label in LABELS if not declared_encoding(b"", f"text/html; charset={label}")}
    assert without == {label for label, encoding in LABELS.items() if encoding == "replacement"}
