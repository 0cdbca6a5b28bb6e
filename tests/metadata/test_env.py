"""Environment variables: read, or refused with a message that says which one and why."""

from __future__ import annotations

import stat
from decimal import Decimal
from pathlib import Path

import pytest

from taskq_site.connections import SQLITE_TIMEOUT_S, database_config
from taskq_site.env import (
    EnvError,
    read_bool,
    read_choice,
    read_dir,
    read_int,
    read_list,
    read_price,
    read_secret,
    read_size,
    read_url,
)
from taskq_site.private_data import FILE_NAME, keep_secret_key
from tests.support.rows import in_one_test


@pytest.mark.parametrize(("text", "value"), [("1", True), ("Yes", True), ("off", False), ("", True)])
def test_a_switch_takes_the_usual_words(monkeypatch: pytest.MonkeyPatch, text: str, value: bool) -> None:
    monkeypatch.setenv("X", text)
    assert read_bool("X", default=True) is value


def test_a_switch_that_is_no_switch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "perhaps")
    with pytest.raises(EnvError, match="X=perhaps: expected one of"):
        read_bool("X", default=False)


@pytest.mark.parametrize("text", ["seven", "-1", "11", "1.5"])
def test_a_number_out_of_bounds_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("X", text)
    with pytest.raises(EnvError, match=f"X={text}: expected"):
        read_int("X", default=1, minimum=0, maximum=10)


@in_one_test(("text", "price"), [("", None), ("0", 0), ("12.50", 12.5), (".25", 0.25), ("0.000012", None)])
def test_a_price_is_an_exact_decimal(monkeypatch: pytest.MonkeyPatch, text: str, price: float | None) -> None:
    monkeypatch.setenv("X", text)
    assert read_price("X") == (Decimal(text) if text else None)
    assert price is None or read_price("X") == price


@in_one_test("text", ["-1", "1e3", "free", "1,5", "nan", "1." + "0" * 13])
def test_a_price_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("X", text)
    with pytest.raises(EnvError, match="expected a price such as"):
        read_price("X")


@in_one_test(
    ("text", "size"),
    [("", 0), ("0", 0), ("12345", 12_345), ("2K", 2_048), ("500m", 500 << 20), ("20 GB", 20 << 30), ("1TiB", 1 << 40)],
)
def test_a_size_takes_units(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv("X", text)
    assert read_size("X") == size


@in_one_test("text", ["much", "-1", "1.5G", "10P", "G", "1 2"])
def test_a_size_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("X", text)
    with pytest.raises(EnvError, match=r"X=.*: expected bytes, or a number with a unit such as 500M"):
        read_size("X")


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("1M", 1 << 20), ("20G", 20 << 30)])
def test_a_size_may_have_a_minimum(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv("X", text)
    assert read_size("X", minimum=1 << 20) == size


def test_a_number_whose_unit_was_forgotten_is_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the limit of the lake it would delete nearly all of it."""
    monkeypatch.setenv("X", "20")
    with pytest.raises(EnvError, match="less than 1,048,576 bytes; is the unit missing"):
        read_size("X", minimum=1 << 20)


def test_a_choice_is_found_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "debug")
    assert read_choice("X", default="INFO", choices=("DEBUG", "INFO")) == "DEBUG"
    monkeypatch.setenv("X", "loud")
    with pytest.raises(EnvError, match="X=loud: expected one of DEBUG, INFO"):
        read_choice("X", default="INFO", choices=("DEBUG", "INFO"))


def test_a_list_drops_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", " a.example, ,b.example,")
    assert read_list("X") == ["a.example", "b.example"]


def test_a_url_that_is_refused_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "http://user:hunter2@host")
    with pytest.raises(EnvError) as caught:
        read_url("X", default="", schemes=("redis",))
    assert "redis://" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_short_secret_is_refused_without_repeating_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "hunter2")
    with pytest.raises(EnvError) as caught:
        read_secret("X")
    assert "hunter2" not in str(caught.value)


def test_a_file_is_no_data_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("X", str(tmp_path / "file"))
    with pytest.raises(EnvError, match="not a directory"):
        read_dir("X", default=lambda: tmp_path)


def test_the_secret_key_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    key = keep_secret_key(tmp_path / "var")
    path = tmp_path / "var" / FILE_NAME
    assert len(key) >= 50
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == [FILE_NAME]
    assert keep_secret_key(tmp_path / "var") == key


def test_an_empty_secret_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("\n")
    with pytest.raises(EnvError, match="is empty"):
        keep_secret_key(tmp_path)


def test_sqlite_waits_for_writers_and_writes_ahead() -> None:
    options = database_config("sqlite:///x.sqlite3")["OPTIONS"]
    assert options["timeout"] == SQLITE_TIMEOUT_S
    assert "journal_mode=WAL" in options["init_command"]


@pytest.mark.parametrize("url", ["mysql://user:hunter2@host/db", "nonsense://hunter2"])
def test_other_databases_are_refused_without_repeating_the_url(url: str) -> None:
    with pytest.raises(EnvError) as caught:
        database_config(url)
    assert "hunter2" not in str(caught.value)
