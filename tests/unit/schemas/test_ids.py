"""Identifiers that are computed from their input."""

from schemas.ids import query_hash


def test_a_query_has_one_hash_in_any_case() -> None:
    assert query_hash("Straße", b"a") == query_hash("STRASSE", b"a") != query_hash("Strand", b"a")
    assert query_hash("Straße", b"a") != query_hash("Straße", b"b")
