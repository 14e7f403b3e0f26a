"""Checks of an inner life after any number of kills."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daemon.app.wiring import make_index, make_state
from daemon.engine.event import Entry
from daemon.engine.journal.journal import Journal, Projection
from daemon.engine.kinds import ExecutionRestarted, ThreadSpawned, WaitBegan
from daemon.inner_life.notes import HandledNotes, NoteIndex
from daemon.inner_life.records import RECORD_TEXT
from daemon.inner_life.tick_log import InnerLifeState
from daemon.kinds import (
    INNER,
    SOUL_KINDS,
    CommandRan,
    InternalMessage,
    ModelCall,
    ProgramStarted,
    SoulTurnBegan,
    TickLogged,
    UnpromptedMessage,
)
from daemon.knowledge.visibility import PUBLIC
from tests.core.file_world import PhaseClock
from tests.crashes.json_lines import read_lines

STILL = ("journal", "_folding", "_views", "_words", "_upto", "_whole", "folded", "_as_of", "_paid")
"""Attributes that are no content of a projection."""


def inner_waits(journal: Journal) -> set[int]:
    waits = journal.pending_entries(WaitBegan, thread=INNER)
    return {one.seq for one in waits if not one.event.resumes and "inner" in one.event.note}


# Projections


async def check_projections(journal: Journal, lived: InnerLifeState) -> None:
    """Compare projections with rebuilt ones at several ticks."""
    ticks = [entry.event.tick for entry in journal.thread_entries(INNER, TickLogged)]
    now = journal.last_seq_of_all() + 1
    for before in (now, *ticks[-1:], *ticks[:1], now):
        fresh = make_state(journal, make_index(journal))
        await lived.update(before)
        await fresh.update(before)
        assert portrait(lived) == portrait(fresh), f"a fold differs from its rebuild as of {before}"


def portrait(state: InnerLifeState) -> dict[str, Any]:
    folds = {"log": state.log, "notes": state.notes, "records": state.records}
    return {name: held(fold) for name, fold in {**folds, "processes": state.processes}.items()} | {
        "said": state.deliveries.lines()
    }


def held(value: object) -> Any:
    if isinstance(value, Projection | NoteIndex | HandledNotes):
        return {name: held(one) for name, one in vars(value).items() if name not in (*STILL, "_at")}
    if isinstance(value, dict):
        return {repr(key): held(one) for key, one in value.items()}
    if isinstance(value, set):
        return sorted(map(repr, value))
    return repr(value)


# Ticks and commands


def check_inner_life(home: Path, steps: int) -> None:
    """Check steps, one log line a tick, one run a command, one wait."""

    async def check() -> None:
        async with Journal(home / "journal.db", PhaseClock(9), SOUL_KINDS) as journal:
            assert len(inner_waits(journal)) == 1, f"the inner life waits for {inner_waits(journal)}"
            _check_steps(journal, steps)
            _check_ticks(journal)
            await _check_records(journal)
            _check_messages(journal)
            _check_prompts(journal, home)

    asyncio.run(check())


def _check_steps(journal: Journal, steps: int) -> None:
    lines = [one.event for one in journal.thread_entries(INNER, TickLogged)]
    said = {journal.entry(one.answer).event.text for one in lines if one.answer}
    taken = [text for text in said if text.startswith("Step")]
    assert len(taken) == steps, f"{len(taken)} steps were taken"
    branches, answers = (
        journal.thread_entries(INNER, ThreadSpawned),
        journal.thread_entries(INNER, InternalMessage),
    )
    again = len(
        journal.entries_of_kind(ExecutionRestarted)
    )  # branches of restarted executions are stopped and not reported
    assert len(branches) - again <= len(answers), f"of {len(branches)} branches {len(answers)} were heard of"
    for looked in journal.thread_entries(INNER, CommandRan):
        if looked.event.name == "notes.read" and looked.event.ok:
            after = next(one for one in lines if one.answer and one.tick > looked.seq)
            assert set(looked.event.shows) <= set(after.saw), "it is not known what it was shown"


def _check_ticks(journal: Journal) -> None:
    again = {re.split("[~/!]", one.key)[0] for one in journal.entries_of_kind(ExecutionRestarted)}
    lines = {entry.event.tick: entry for entry in journal.thread_entries(INNER, TickLogged)}
    for tick, times in Counter(
        entry.event.tick for entry in journal.thread_entries(INNER, TickLogged)
    ).items():
        began = journal.entry(tick)
        assert isinstance(began.event, SoulTurnBegan)
        assert times == 1 or began.event.execution in again, f"tick {tick} is told {times} times"
    thought = {one.seq for one in journal.thread_entries(INNER, ModelCall) if one.event.name == "tick"}
    answers = [entry.event.answer for entry in lines.values() if entry.event.answer]
    assert len(answers) == len(set(answers))
    assert again or set(answers) == thought, "a tick is told of what nobody thought, or not at all"
    _check_commands(journal, lines, again=bool(again))


def _check_commands(journal: Journal, lines: Mapping[int, Entry[TickLogged]], *, again: bool) -> None:
    by_tick: dict[int, list[Entry[CommandRan]]] = {}
    for ran in journal.thread_entries(INNER, CommandRan):
        by_tick.setdefault(ran.event.tick, []).append(ran)
    for tick, every in by_tick.items():
        done = Counter(
            (one.event.cmd_id, str(one.event.args) if again else "")
            for one in every
            if one.event.ok and not one.event.taken_from
        )
        assert set(done.values()) <= {1}, f"carried out twice: {done}"
        told = lines[tick].event
        mine = [one.seq for one in every]
        assert list(told.commands) == mine[-len(told.commands) :], f"commands of tick {tick} are not told"
        assert again or len(mine) == len(told.commands), f"commands of tick {tick} are not told"
        assert told.outcome != "repeated", "the commands of a repeat were carried out"
        assert "never carried out" not in str([one.event.args for one in every])
    begun = Counter(one.event.name for one in journal.thread_entries(INNER, ProgramStarted))
    assert set(begun.values()) <= {1}, f"started twice: {begun}"


async def _check_records(journal: Journal) -> None:
    state = make_state(journal, make_index(journal))
    await state.update()
    ticks = Counter(line.tick.tick for line in state.log.lines)
    assert set(ticks.values()) == {1}, f"in the log stand {ticks}"
    for family in RECORD_TEXT:
        texts = Counter(one.text for one in state.records.of(family, PUBLIC, 100))
        assert set(texts.values()) <= {1}, f"of {family} there are {texts}"
    notebook = state.records.llm_memory(PUBLIC, 10_000)[1]
    assert len(notebook) <= 1


def _check_messages(journal: Journal) -> None:
    wanted = Counter(
        (one.event.to, " ".join(one.event.text.split())) for one in journal.entries_of_kind(UnpromptedMessage)
    )
    assert set(wanted.values()) <= {1}, f"wanted said twice: {wanted}"


def _check_prompts(journal: Journal, home: Path) -> None:
    for line in read_lines(home / "llm.jsonl"):
        shown = str(line["trailing"])
        if "SECRET" in shown and "in view: " in shown:
            assert re.search(r"in view: .*\(sess-", shown), "a secret is shown where it may not be known"
