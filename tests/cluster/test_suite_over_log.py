"""Tests of the engine and of stories once more, with every journal over a log: `JOURNAL=postgres`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.postgres import NEEDS_POSTGRES, RUN, postgres_server, run_name
from tests.soak import later
from tests.source import ROOT

__all__ = ["postgres_server"]
pytestmark = NEEDS_POSTGRES

ALWAYS = (
    "engine: journal changes leases recent_entries dropped_waits waits_failing unawaited",
    "stories: stops forgetting interrupts"
    " open_thought::fifty_branches_meet_the_bound_of_their_root_and_an_owner_is_asked_once",
)
"""Rooms, and files or tests of them, that `make test` runs over a log. A line takes ten seconds."""
LATER = (
    *("engine", "stories", "slack", "console", "inner_life"),
    *("turn", "knowledge", "playbooks", "processes", "reading", "tools"),
)
"""Rooms that `make soak` runs whole."""


def files_of(line: str) -> list[str]:
    room, _, names = line.partition(": ")
    if not names:
        return [f"tests/{room}"]
    found = (name.partition("::") for name in names.split())
    return [f"tests/{room}/test_{file}.py" + (one and f"::test_{one}") for file, _, one in found]


@pytest.mark.parametrize("line", [*ALWAYS, *(later(room) for room in LATER)])
def test_what_holds_with_a_file_holds_over_a_log(postgres_server: str, line: str) -> None:
    options = ("-q", "--hypothesis-profile=ci", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files_of(line)],
        cwd=ROOT,
        env={**os.environ, "JOURNAL": "postgres", RUN: run_name()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-10_000:]


def test_the_named_tests_exist() -> None:
    assert [
        path
        for line in (*ALWAYS, *LATER)
        for path in files_of(line)
        if not (ROOT / path.partition("::")[0]).exists()
    ] == []
