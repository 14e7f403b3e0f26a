"""Every benchmark, with tiny counts."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from benchmarks.__main__ import ALL
from benchmarks.appends import appends
from benchmarks.calls import calls
from benchmarks.catching_up import catching_up
from benchmarks.crowd import crowd
from benchmarks.figure import Figure, side_by_side, table
from benchmarks.growth import growth
from benchmarks.idle import idle
from benchmarks.ism import ism
from benchmarks.looking_up import looking_up
from benchmarks.pages import pages
from benchmarks.reading import reading
from benchmarks.recall import recall
from benchmarks.records import records
from benchmarks.roots import roots
from benchmarks.rounds import rounds
from benchmarks.shared_log import shared_log
from benchmarks.shared_turns import shared_turns
from benchmarks.speech import speech
from benchmarks.start import start
from benchmarks.thinking import thoughts
from benchmarks.ticks import ticks
from benchmarks.tools import tools
from benchmarks.turns import turns
from benchmarks.two_daemons import two_daemons
from benchmarks.verifying import verifying
from benchmarks.waits import waits
from benchmarks.waking import waking
from rehearsal.postgres_server import programs_folder
from tests.soak import but

TINY = {
    "calls": partial(calls, rounds=1, conversations=2),
    "tools": partial(tools, rounds=2),
    "rounds": partial(rounds, rounds=1, each=2),
    "ism": partial(ism, rounds=3, long=2),
    "thoughts": partial(thoughts, rounds=1, chain=3, branches=2),
    "reading": partial(
        reading, rounds=1, calls=3, children=2, size=1_000, at_once=2, records=300, starts=2, takes=0.01
    ),
    "turns": partial(turns, rounds=1, conversations=2),
    "speech": partial(speech, rounds=1),
    "crowd": partial(crowd, threads=2, pings=1, seconds=0.2),
    "start": partial(start, rounds=1),
    "recall": partial(recall, entries=80, rounds=1),
    "roots": partial(roots, counts=(3,), rounds=1),
    "looking_up": partial(looking_up, entries=800, conversations=4, rounds=1),
    "records": partial(records, entries=60, conversations=4, rounds=1),
    "pages": partial(pages, entries=30, searched=60, readers=3, rounds=1),
    "ticks": partial(ticks, notes=(3, 5), rounds=1),
    "appends": partial(appends, rounds=1, at_once=3),
    "shared_log": partial(shared_log, rounds=2, at_once=3, many=60),
    "shared_turns": partial(shared_turns, rounds=1, conversations=2),
    "two_daemons": partial(two_daemons, rounds=1, threads=4, singles=2),
    "growth": partial(growth, sizes=(200, 300), starts=1, rounds=1),
    "waits": partial(waits, number=6, rounds=2),
    "verifying": partial(verifying, entries=160, rounds=1),
    "idle": partial(idle, seconds=1.0, settles=0.0),
    "waking": partial(waking, entries=300),
    "catching_up": partial(catching_up, threads=(3,)),
}
SLOW = (
    *("pages", "start", "idle", "speech", "growth", "crowd", "roots", "reading", "ism", "ticks"),
    *("thoughts", "recall", "rounds", "waits", "calls", "verifying", "tools", "shared_turns", "two_daemons"),
)
"""Benchmarks that start programs repeatedly, run a daemon, or wait."""
SHARED = ("shared_log", "shared_turns", "two_daemons")
"""Benchmarks of a log in PostgreSQL."""


def test_none_is_left_out() -> None:
    assert TINY.keys() == {benchmark.__name__ for benchmark in ALL}


@pytest.mark.parametrize("name", but(TINY, SLOW))
async def test_a_benchmark_prints_its_figures(name: str, tmp_path: Path) -> None:
    if name in SHARED and programs_folder() is None:
        pytest.skip("PostgreSQL is not installed: make postgres")
    figures = await TINY[name](tmp_path)
    head, *lines = table(figures).splitlines()
    assert head.startswith("figure")
    assert len(lines) == len(figures) > 0
    for line, figure in zip(lines, figures, strict=True):
        assert line.startswith(figure.name)
        assert figure.value > 0
        assert bool(figure.aim) == bool(re.search("(met|missed)$", line))


async def test_what_is_compared_is_timed_in_turns() -> None:
    done = []

    async def note(name: str) -> None:
        done.append(name)

    found = await side_by_side(2, partial(note, "floor"), partial(note, "ours"))
    assert done == ["floor", "ours"] * 3  # the first is a warm-up
    assert len(found) == 2


def test_a_line_says_how_often_the_floor_it_is_and_whether_the_aim_is_met() -> None:
    missed = Figure(name="call", value=1234.5, unit="ms", floor=617.25, aim="at most 1.5 times", met=False)
    plain = Figure(name="other", value=0.0123, unit="s")
    assert table([missed, plain]).splitlines()[1:] == [
        "call    1,234 ms  617 ms  2.00   at most 1.5 times  missed",
        "other   0.0123 s",
    ]
