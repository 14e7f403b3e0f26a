"""The writable folder of a program: owner, result, removal."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from daemon.inner_life.programs.program_folder import end_and_remove, read_exit, wrapper_pid
from daemon.inner_life.programs.wrapper import is_too_large


@pytest.mark.parametrize(
    ("written", "lives"),
    [("4711", 4711), ("-1", None), ("0", None), ("1", None), ("9" * 20, None), ("me", None)],
)
def test_a_number_that_is_no_process_names_nobody(tmp_path: Path, written: str, lives: int | None) -> None:
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(written)
    with wrapper.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert wrapper_pid(tmp_path) == lives
    assert wrapper_pid(tmp_path) is None, "nobody holds it"


def test_why_it_could_not_be_started_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "status").write_text(r'{"why": "unstartable", "error": "half of \ud83d"}')
    end = read_exit(tmp_path)
    assert end
    assert end.error.encode().startswith(b"half of ")


def nested(folder: Path, deep: int, name: str = "d") -> None:
    folder.mkdir()
    place = os.open(folder, os.O_RDONLY)
    for _ in range(deep):
        os.mkdir(name, dir_fd=place)
        within = os.open(name, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = within
    os.close(place)


def test_all_of_it_goes_however_deep_and_whatever_may_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    nested(folder, 1_200)
    (folder / "closed").mkdir()
    (folder / "closed" / "file").touch()
    (folder / "closed").chmod(0o500)
    end_and_remove(folder)
    assert not folder.exists()


def test_folders_are_counted_and_what_is_too_deep_to_count_is_too_much(tmp_path: Path) -> None:
    work = tmp_path / "work"
    nested(work, 20)
    assert (is_too_large(work, 20 * 4096), is_too_large(work, 19 * 4096)) == (False, True)
    nested(work / "deep", 1_000)
    assert not is_too_large(work, 10**9)
    nested(work / "deeper", 20, "d" * 250)
    assert is_too_large(work, 10**9)
    end_and_remove(work)
