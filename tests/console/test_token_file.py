"""The file of the lasting token: permissions, and refusal of unsafe ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from daemon.console.access import read_or_make_token
from daemon.engine.exceptions import JournalError
from daemon.settings.home import TOKEN
from daemon.settings.parse import ConfigError
from daemon.settings.token_file import read_token


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / TOKEN


def written(file: Path, text: str, mode: int = 0o600) -> None:
    file.write_text(text)
    file.chmod(mode)


def test_the_first_start_makes_one_that_stays(file: Path) -> None:
    assert read_token(file.parent) == ""
    token = read_or_make_token(file.parent)
    assert len(token) > 40
    assert file.stat().st_mode & 0o777 == 0o600
    assert (read_token(file.parent), read_or_make_token(file.parent)) == (token, token)
    assert [path.name for path in file.parent.iterdir()] == [TOKEN]


def test_two_daemons_that_begin_at_once_make_one(file: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len({*pool.map(read_or_make_token, [file.parent] * 32)}) == 1


@pytest.mark.parametrize("nothing", ["", "\n", "  \n\n"])
def test_an_empty_one_is_made_anew_and_opens_nothing(file: Path, nothing: str) -> None:
    written(file, nothing)
    token = read_or_make_token(file.parent)
    assert len(token) > 40
    assert file.read_text() == f"{token}\n"


def test_an_owners_own_is_taken_without_what_an_editor_adds(file: Path) -> None:
    written(file, "  a-token-of-the-owners-own\r\n")
    assert read_or_make_token(file.parent) == "a-token-of-the-owners-own"


def test_one_that_others_could_read_is_closed_and_the_owner_is_told(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written(file, "a-token-of-the-owners-own", mode=0o644)
    token = read_or_make_token(file.parent)
    assert file.stat().st_mode & 0o777 == 0o600
    assert "Other users could read" in caplog.text
    assert token not in caplog.text


def linked(file: Path) -> None:
    written(file.with_name("elsewhere"), "a-token-that-stands-elsewhere")
    file.symlink_to("elsewhere")


def dangling(file: Path) -> None:
    file.symlink_to("nowhere")


def foreign(file: Path) -> None:
    written(file, "a-token-that-another-user-knows")
    os.chown(file, 4242, -1)


UNTRUSTED: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link": (linked, "cannot be read"),
    "a link to nothing": (dangling, "cannot be read"),
    "a folder": (Path.mkdir, "no plain file"),
    "a pipe": (os.mkfifo, "no plain file"),
    "too short": (lambda file: written(file, "x" * 19), "20 or more"),
    "two words": (lambda file: written(file, "two words that are long"), "20 or more"),
    "two lines": (lambda file: written(file, "a-token-of-one-line\na-token-of-another"), "20 or more"),
    "bytes": (lambda file: written(file, "\x01" * 30), "20 or more"),
    "letters that no header holds": (lambda file: written(file, "ü" * 30), "20 or more"),
    "somebody else's": (foreign, "another user"),
}


@pytest.mark.parametrize("case", UNTRUSTED)
def test_one_that_cannot_be_trusted_is_refused_and_left_as_it_is(file: Path, case: str) -> None:
    if case == "somebody else's" and os.geteuid():
        pytest.skip("Only root gives a file to somebody else.")
    make, why = UNTRUSTED[case]
    make(file)
    with pytest.raises(ConfigError, match=why) as refused:
        read_or_make_token(file.parent)
    assert "Remove it, and the next start makes a new one" in str(refused.value)
    assert os.path.lexists(file)


def test_where_none_can_be_written_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="console-token cannot be made"):
        read_or_make_token(tmp_path / "nowhere")
