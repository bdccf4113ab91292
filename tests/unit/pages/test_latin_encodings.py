# ruff: noqa: E501 - texts as they come
"""The table of Latin letters of a page that declares none is the one that its language has all letters of."""

import pytest

from streams.pages.normalize import normalize

CASES = [
    ("Czech", "cp1250", "Přístav v našem městě vykopalo čtyřicet dělníků, kteří byli placeni sledi a olejem do lamp."),
    ("Polish", "cp1250", "Port w naszym mieście wykopało czterdziestu robotników, którym płacono śledziami i olejem."),
    ("Polish, as Unix wrote it", "iso8859-2", "Port wykopało czterdziestu robotników, którym płacono śledziami, a książkę mają do dziś."),
    ("Hungarian", "cp1250", "A városunk kikötőjét negyven munkás ásta ki, akiknek heringgel és lámpaolajjal fizettek."),
    ("Turkish", "cp1254", "Şehrimizin limanı kırk işçi tarafından kazıldı, işçilere ringa balığı ve lamba yağı ödendi."),
    ("Lithuanian", "cp1257", "Mūsų miesto uostą iškasė keturiasdešimt darbininkų, kuriems buvo mokama silkėmis ir aliejumi."),
    ("Latvian", "cp1257", "Mūsu pilsētas ostu izraka četrdesmit strādnieki, kuriem maksāja ar siļķēm un lampu eļļu."),
    ("German", "cp1252", "Der Hafen unserer Stadt wurde von vierzig Arbeitern gegraben, die für Heringe und Öl schufteten."),
    ("French", "cp1252", "Le port de notre ville fut creusé par quarante ouvriers payés en harengs à la fin de l'été."),
    ("Icelandic", "cp1252", "Höfnin í bænum okkar var grafin af fjörutíu verkamönnum sem fengu greitt með síld, það þótti gott."),
    ("Swedish", "cp1252", "Hamnen i vår stad grävdes av fyrtio arbetare som fick betalt i sill, och boken finns kvar än."),
    ("English with signs", "cp1252", "The café’s naïve owner said “hello” and paid £5 – no more – for half (½) of it, at 3 × 4 m."),
]  # fmt: skip


@pytest.mark.parametrize(("why", "encoding", "text"), CASES)
def test_a_page_without_a_declaration(why: str, encoding: str, text: str) -> None:
    page = f"<title>T</title><p>{text}</p>".encode(encoding)
    assert normalize(page, url="https://site.example/").document.text == text, why


def test_a_declaration_counts_more() -> None:
    page = "<meta charset=windows-1252><p>Pøístav v našem mìstì vykopalo ètyøicet dìlníkù.".encode("cp1252")
    assert normalize(page, url="https://site.example/").document.text.startswith("Pøístav")


@pytest.mark.parametrize(
    "script", ["", "<script>" + "x = 1;" * 800 + "</script>", "<style>" + "p {}" * 800 + "</style>"]
)
def test_a_declaration_behind_a_long_script_or_style_is_read(script: str) -> None:
    page = f"<html><head>{script}<meta charset=windows-1251><title>Порт</title></head><body><p>Порт закрыт."
    assert normalize(page.encode("cp1251"), url="https://site.example/").document.title == "Порт"


def test_a_declaration_in_the_body_is_none_if_it_comes_late() -> None:
    page = f"<head><title>T</title></head><body><p>{'word ' * 600}<p>{'Порт закрыт. ' * 9}<meta charset=koi8-r>"
    assert "Порт" in normalize(page.encode("cp1251"), url="https://site.example/").document.text
