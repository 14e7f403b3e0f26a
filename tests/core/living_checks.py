"""What must be true of an inner life when its story has ended, however often its daemon was killed."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from daemon.engine.event import Entry
from daemon.engine.journal import Journal
from daemon.engine.kinds import Waiting
from daemon.inner.fold import Fold
from daemon.inner.state import State
from daemon.kinds import INNER, SOUL_KINDS, CommandRan, ModelCall, Ticked, ToSay, TurnBegan
from daemon.within import state_of
from tests.core.outside import StoryClock, read

STILL = ("journal", "_one", "_views", "_words", "_seen", "folded", "_as_of")
"""What of a fold is no part of what it holds."""


def inner_waits(journal: Journal) -> set[int]:
    """The seqs of the waits for the next tick."""
    waits = journal.pending(Waiting, thread=INNER)
    return {one.seq for one in waits if not one.event.resumes and "inner" in one.event.note}


# Its projections


async def check_folds(journal: Journal, lived: State) -> None:
    """What a life has folded is what a fresh one folds, as of each of its ticks, too."""
    with ExitStack() as stack:
        ticks = [entry.event.tick for entry in journal.of(INNER, Ticked)]
        for before in ({}, *({"before": tick} for tick in (*ticks[-1:], *ticks[:1])), {}):
            fresh = state_of(journal, stack)
            await lived.update(**before)
            await fresh.update(**before)
            assert portrait(lived) == portrait(fresh), f"a fold differs from its rebuild as of {before}"


def portrait(state: State) -> dict[str, Any]:
    """All that its folds hold."""
    folds = {"log": state.log, "notes": state.notes, "records": state.records}
    return {name: held(fold) for name, fold in {**folds, "processes": state.processes}.items()} | {
        "said": state.said.lines()
    }


def held(value: object) -> Any:
    """A value as it can be compared."""
    if isinstance(value, Fold) or type(value).__name__ == "Shelves":
        return {name: held(one) for name, one in vars(value).items() if name not in (*STILL, "_at")}
    if isinstance(value, dict):
        return {repr(key): held(one) for key, one in value.items()}
    if isinstance(value, set):
        return sorted(map(repr, value))
    return repr(value)


# What it did


def lived_well(home: Path) -> None:
    """Each tick is told once, each command carried out once, nothing said twice, and one wait is left."""

    async def check() -> None:
        async with Journal(home / "journal.db", StoryClock(9), SOUL_KINDS) as journal:
            assert len(inner_waits(journal)) == 1, f"the inner life waits for {inner_waits(journal)}"
            _check_ticks(journal)
            _check_messages(journal)
            _check_prompts(journal, home)

    asyncio.run(check())


def _check_ticks(journal: Journal) -> None:
    lines = journal.of(INNER, Ticked)
    numbers = Counter(entry.event.tick for entry in lines)
    assert set(numbers.values()) == {1}, f"ticks that are told twice: {numbers}"
    began = {entry.seq for entry in journal.of(INNER, TurnBegan)}
    assert numbers.keys() <= began
    thought = [one.seq for one in journal.of(INNER, ModelCall) if one.event.name == "tick"]
    kept = [one for one in thought if not journal.at(one).event.taken_from]
    answers = [entry.event.answer for entry in lines if entry.event.answer]
    assert len(answers) == len(set(answers))
    assert set(answers) <= set(thought), "a tick is told of what nobody thought"
    by_tick: dict[int, list[Entry[CommandRan]]] = {}
    for ran in journal.of(INNER, CommandRan):
        by_tick.setdefault(ran.event.tick, []).append(ran)
    _check_commands(lines, by_tick)
    assert len(kept) >= len(answers)


def _check_commands(lines: Sequence[Entry[Ticked]], by_tick: dict[int, list[Entry[CommandRan]]]) -> None:
    told = {entry.event.tick: entry.event for entry in lines}
    for tick, ran in by_tick.items():
        carried_out = Counter(one.event.cmd_id for one in ran if one.event.ok)
        assert set(carried_out.values()) <= {1}, f"carried out twice: {carried_out}"
        assert [one.seq for one in ran] == list(told[tick].commands), f"commands of tick {tick} are not told"
        assert told[tick].outcome != "repeated", "the commands of a repeat were carried out"
        assert "never carried out" not in str([one.event.args for one in ran])


def _check_messages(journal: Journal) -> None:
    wanted = Counter((one.event.to, " ".join(one.event.text.split())) for one in journal.kind(ToSay))
    assert set(wanted.values()) <= {1}, f"wanted said twice: {wanted}"


def _check_prompts(journal: Journal, home: Path) -> None:
    """What was written in sight of a conversation is shown in no other."""
    for line in read(home / "llm.jsonl"):
        shown = str(line["trailing"])
        if "SECRET" in shown and "in view: " in shown:
            assert re.search(r"in view: .*\(sess-", shown), "a secret is shown where it may not be known"
