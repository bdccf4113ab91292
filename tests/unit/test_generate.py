"""`python -m docs.generate`: writes the files that are out of date, or lists them."""

from pathlib import Path

import pytest

from docs.generate import __main__ as generate


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file that is up to date, one that is not, and without a third one."""
    contents = {tmp_path / "same": "same", tmp_path / "old": "new", tmp_path / "made" / "missing": "new"}
    (tmp_path / "same").write_text("same")
    (tmp_path / "old").write_text("old")
    monkeypatch.setattr(generate, "published_files", lambda: contents)
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["generate", *arguments])
    return generate.main()


def test_files_that_are_out_of_date_are_written(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch) == 0
    assert capsys.readouterr().out == "wrote old\nwrote made/missing\n"
    assert ((files / "old").read_text(), (files / "made" / "missing").read_text()) == ("new", "new")
    assert run(monkeypatch, "--check") == 0


def test_a_check_lists_them_and_writes_nothing(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--check") == 1
    assert capsys.readouterr().out == "out of date: old\nout of date: made/missing\n"
    assert (files / "old").read_text() == "old"
    assert not (files / "made").exists()
