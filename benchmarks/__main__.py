"""Command line: runs the named benchmarks, or all, and prints a table. A missed aim is no failure.

`prompts` judges a model's answers, and takes its own options.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from benchmarks.appends import appends
from benchmarks.calls import calls
from benchmarks.catching_up import catching_up
from benchmarks.crowd import crowd
from benchmarks.figure import Figure, table
from benchmarks.growth import growth
from benchmarks.idle import idle
from benchmarks.ism import ism
from benchmarks.looking_up import looking_up
from benchmarks.pages import pages
from benchmarks.prompts import main as judge_prompts
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

ALL = (
    calls,
    tools,
    rounds,
    ism,
    thoughts,
    reading,
    turns,
    speech,
    crowd,
    start,
    recall,
    roots,
    looking_up,
    records,
    pages,
    ticks,
    appends,
    shared_log,
    shared_turns,
    two_daemons,
    waits,
    verifying,
    idle,
    growth,
    waking,
    catching_up,
)


async def run(names: list[str]) -> str:
    figures: list[Figure] = []
    for benchmark in ALL:
        if not names or benchmark.__name__ in names:
            print(f"{benchmark.__name__} ...", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
                figures += await benchmark(Path(folder))
    return table(figures)


if __name__ == "__main__":
    if sys.argv[1:2] == ["prompts"]:
        judge_prompts(sys.argv[2:])
    else:
        print(asyncio.run(run(sys.argv[1:])))
