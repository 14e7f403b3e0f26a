"""Isolation of programs with bwrap, and the doctor's check of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from daemon.app.doctor import examine_programs
from daemon.sandbox.bubblewrap import find_bwrap, isolated_argv
from daemon.settings.limits import AllowedProgram, AllowedPrograms
from tests.inner_life.programs.workshop import Workshop, shell

WORKS = 'echo "$@" >> {log}\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"'
FAILS = "echo 'No permissions to create a new namespace' >&2\nexit 1"
Place = Callable[[str], Path]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Return an installer of a fake bwrap; it returns the script's log."""

    def put(script: str) -> Path:
        log, folder = tmp_path / "log", tmp_path / "bin"
        folder.mkdir()
        tool = folder / "bwrap"
        tool.write_text(f"#!/bin/sh\n{script.format(log=log)}\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        return log

    return put


async def test_a_process_is_started_through_it_as_it_was_tried(workshop: Workshop, place: Place) -> None:
    log = place(WORKS)
    home = workshop.home.parent
    (home / "other.db").touch()
    (home / "notes.txt").touch()
    (home / "console-token").write_text("a token")
    (home / "console-sessions").mkdir()
    async with workshop.supervised({"it": shell('echo "$1"', "{a}")}):
        started = await workshop.start("it", a="a word")
        ended = await workshop.end(started)
    assert (ended.status, ended.result.splitlines()[-1]) == ("ok", "a word")
    tried, asked = log.read_text().splitlines()
    work = workshop.folder(started) / "work"
    for line in (tried, asked):
        assert line.startswith("--die-with-parent --unshare-net --unshare-pid --unshare-ipc --ro-bind / / ")
    assert f" --tmpfs {workshop.home.parent} " in asked
    assert f" --bind {work} {work} --chdir {work} -- /bin/sh -c " in asked
    assert ".db" not in asked
    assert f"--ro-bind-try {home}/notes.txt " in asked
    assert "console" not in asked, "what opens the page is the soul's"


async def test_one_that_does_not_work_is_not_used(
    workshop: Workshop, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    place(FAILS)
    ended = await workshop.run(shell("echo done"))
    assert ended.status == "ok"
    assert (
        "can reach the network: bwrap does not work here (No permissions to create a new namespace)"
        in caplog.text
    )


async def test_without_programs_it_is_not_tried(workshop: Workshop, place: Place) -> None:
    log = place(WORKS)
    async with workshop.supervised({}):
        pass
    assert not log.exists()


def test_the_words_of_a_program_are_no_options_of_it() -> None:
    argv = isolated_argv("bwrap", ["p", "--share-net"], Path("/h"), Path("/h/w"))
    assert argv[argv.index("--") :] == ["--", "p", "--share-net"]


def test_nothing_of_the_soul_is_seen_by_them_and_all_else_is(tmp_path: Path) -> None:
    for name in ("journal.db", "journal.db-wal", "journal.index.db", "backup.db.part"):
        (tmp_path / name).touch()
    for folder in ("reads", "processes", "scripts"):
        (tmp_path / folder).mkdir()
    line = " ".join(isolated_argv("bwrap", ["p"], tmp_path / "processes", tmp_path / "processes" / "w"))
    scripts = tmp_path / "scripts"
    assert f" --tmpfs {tmp_path} --ro-bind-try {scripts} {scripts} " in line
    assert not any(name in line for name in (".db", "reads"))


def test_the_env_file_seems_empty_to_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").touch()
    (tmp_path / "var").mkdir()
    monkeypatch.chdir(tmp_path)
    line = " ".join(isolated_argv("bwrap", ["p"], tmp_path / "var" / "processes", tmp_path / "w"))
    assert f" --ro-bind /dev/null {tmp_path / '.env'} " in line


def test_the_files_with_keys_of_the_owner_seem_empty_to_them(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").touch()
    (tmp_path / "link.json").symlink_to("mcp.json")
    hidden = [tmp_path / "link.json", tmp_path / "gone"]
    argv = isolated_argv("bwrap", ["p"], tmp_path / "processes", tmp_path / "processes" / "w", hidden)
    assert f" --ro-bind /dev/null {tmp_path}/mcp.json " in " ".join(argv)
    assert not any("gone" in word for word in argv)


async def test_the_doctor_says_what_may_run_and_by_what_it_is_confined(place: Place) -> None:
    recipes = AllowedPrograms({"list": AllowedProgram(argv=("ls",))})
    none = await examine_programs(AllowedPrograms(), 600)
    assert (none.ok, none.said) == (True, "the inner life may run no programs (PROCESS_COMMANDS)")
    place(WORKS)
    found = await examine_programs(recipes, 90.0)
    assert found.ok
    assert found.said.startswith("it may run list for 90 s each; ")
    assert found.said.endswith("/bwrap keeps them from the network")


async def test_the_doctor_says_that_they_can_reach_the_network(place: Place) -> None:
    place(FAILS)
    found = await examine_programs(AllowedPrograms({"list": AllowedProgram(argv=("ls",))}), 600)
    assert found.ok
    assert found.said.startswith(
        "it may run list for 600 s each; they can reach the network: bwrap does not work here"
    )
    assert (await find_bwrap())[0] == ""


async def test_the_doctor_names_a_program_that_is_not_there() -> None:
    found = await examine_programs(
        AllowedPrograms({"a": AllowedProgram(argv=("ls",)), "b": AllowedProgram(argv=("no-such-thing",))}),
        600,
    )
    assert not found.ok
    assert found.said.startswith("PROCESS_COMMANDS names what is no program here: b. ")
