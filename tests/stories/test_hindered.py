"""Missing permissions: log line and exit status."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.forgery import opened
from tests.soak import SOAK, shared
from tests.stories.process import ended, into, lived, running, start, start_anew

JOURNAL, STORE = "rehearsal-journal.db", "rehearsal.db"
DROPPED = "--bounding-set=-dac_override,-dac_read_search"
"""setpriv argument without which root ignores file modes."""
ROOT = os.geteuid() == 0
BOUND: tuple[str, ...] = ("setpriv", DROPPED) if ROOT else ()

modes_bind = pytest.mark.skipif(
    ROOT and not shutil.which("setpriv"), reason="modes do not bind root, and there is no setpriv"
)


def folder_in_place(name: str) -> Callable[[Path], None]:
    return lambda home: (home / name).mkdir(parents=True)


def mode(name: str, bits: int) -> Callable[[Path], None]:
    def change(home: Path) -> None:
        home.mkdir(exist_ok=True)
        (home / name).touch()
        (home / name).chmod(bits)

    return change


def closed(home: Path) -> None:
    home.mkdir()
    home.chmod(0o500)


def null_body(home: Path) -> None:
    with opened(home / JOURNAL) as copy:
        copy.change(copy.seqs("caught-up")[0], body="null")


HINDRANCES: dict[str, tuple[Callable[[Path], None], int, str]] = {
    "a lock that is a folder": (folder_in_place(f"{JOURNAL}.lock"), 74, "The lock "),
    "a journal that is a folder": (folder_in_place(JOURNAL), 74, "cannot be opened as a journal"),
    "a store that is a folder": (folder_in_place(STORE), 74, "cannot be opened as a rehearsed workspace"),
}
CLOSED: dict[str, tuple[Callable[[Path], None], int, str]] = {
    "a folder": (closed, 78, "which cannot be written. Make it this user's"),
    "a lock": (mode(f"{JOURNAL}.lock", 0o400), 74, "cannot be used (Permission denied)"),
    "a journal": (mode(JOURNAL, 0o400), 74, "cannot be opened as a journal (attempt to write a readonly"),
    "a journal to read": (mode(JOURNAL, 0o000), 74, "cannot be opened as a journal (unable to open database"),
    "a store": (mode(STORE, 0o400), 74, "as a rehearsed workspace (attempt to write a readonly database)"),
}


async def says(home: Path, status: int, why: str, *command: str, within: tuple[str, ...] = ()) -> None:
    process = await (start_anew(home, *command, within=within) if within else start(home, *command))
    got, said = await ended(process)
    *log, line = said.splitlines()
    assert (got, [one for one in log if " CRITICAL " not in one]) == (status, []), said
    assert why in line


@pytest.mark.parametrize("name", HINDRANCES)
async def test_what_stands_in_the_way_is_a_line(tmp_path: Path, name: str) -> None:
    hinder, status, why = HINDRANCES[name]
    hinder(tmp_path / "home")
    await says(tmp_path / "home", status, why)


@SOAK
@modes_bind
@pytest.mark.parametrize("name", shared(CLOSED, 5))
async def test_what_is_closed_to_us_is_a_line(tmp_path: Path, name: str) -> None:
    hinder, status, why = CLOSED[name]
    hinder(tmp_path / "home")
    await says(tmp_path / "home", status, why, within=BOUND)
    if name == "a store":
        await says(tmp_path / "home", status, why, "rehearse", within=BOUND)


@SOAK
@modes_bind
async def test_a_journal_in_a_closed_folder_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o000)
    for command in ("verify", "export"):
        await says(tmp_path / "home", 74, "There is no journal at", command, within=BOUND)


@SOAK
async def test_a_body_that_is_null_keeps_nobody_from_starting_and_the_doctor_names_it(tmp_path: Path) -> None:
    await lived(tmp_path)
    null_body(tmp_path)
    async with running(tmp_path):
        pass
    doctor = await start(tmp_path, "doctor")
    _, told = await ended(doctor)
    assert doctor.stdout
    assert "Traceback" not in told
    assert "its body" in (await doctor.stdout.read()).decode()


def shown(home: Path) -> dict[str, str]:
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in (home, *home.iterdir())}
    return {path.name: oct(bits) for path, bits in found.items() if bits & 0o077}


async def test_nobody_else_can_read_what_it_remembers(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with running(home):
        assert {path.name for path in home.iterdir()} >= {JOURNAL, f"{JOURNAL}-wal", f"{JOURNAL}.lock", STORE}
        assert shown(home) == {}
    for path in (home, *home.iterdir()):
        path.chmod(0o755)
    async with running(home):
        assert shown(home) == {}, "what a former one left open is closed"
    async with running(tmp_path / "world", "rehearse") as (_, world):
        async with running(tmp_path / "soul", **into(world)):
            assert shown(tmp_path / "soul") == {}
        assert shown(tmp_path / "world") == {}


@SOAK
async def test_a_folder_of_other_things_is_left_to_the_doctor(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "letters").touch(mode=0o644)
    async with running(home):
        assert shown(home) == {"home": "0o755", "letters": "0o644"}
