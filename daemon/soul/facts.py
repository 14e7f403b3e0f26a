"""The figures of what was done for one matter, as `!trace` tells them: a fold over its entries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from daemon.engine.event import Entry, only
from daemon.engine.keys import root_of
from daemon.engine.kinds import Spawned
from daemon.engine.reading import Reading
from daemon.kinds import InnerMessage, ModelCall, Opened, RunTold, TransitionTaken, TurnBegan, thread_key
from daemon.process import Facts
from daemon.soul.train_of_thought import executions

ACTED = re.compile(r'<result of="([^"]*)">')


def facts(journal: Reading, execution: str, console: str) -> Facts:
    """Return what was done in this execution, and in those before it of the same train of thought."""
    began = only(TurnBegan, journal.execution_entries(execution))[0]
    train = executions(journal, began.thread, began)
    entries: list[Entry[Any]] = []
    processes: list[str] = []
    for one in train:
        recorded = journal.execution_entries(one.event.execution)
        entries += recorded
        processes += [one.event.process, *(taken.event.to for taken in only(TransitionTaken, recorded))]
    link = ""
    if console:
        link = f"{console}/#{began.thread}"
    calls = [call.event for call in _calls(journal, entries) if not call.event.taken_from]
    return Facts(
        processes=tuple(dict.fromkeys(processes)),
        actions=tuple(_actions(journal, train, entries)),
        calls=len(calls),
        tokens=sum(call.usage.total for call in calls),
        usd=sum(call.cost for call in calls),
        worth=sum(call.worth for call in calls),
        link=link,
    )


def _calls(journal: Reading, entries: Sequence[Entry[Any]]) -> Iterator[Entry[ModelCall]]:
    """Yield the calls among these entries, and those of the branches that were begun there."""
    yield from only(ModelCall, entries)
    for spawned in only(Spawned, entries):
        yield from journal.tree_entries(spawned.event.thread, ModelCall)


def _actions(
    journal: Reading, train: Sequence[Entry[TurnBegan]], entries: Sequence[Entry[Any]]
) -> Iterator[str]:
    """Yield the actions that were chosen: those of runs, then those of open thought, by what they told it."""
    for told in only(RunTold, entries):
        yield from ACTED.findall(told.event.text)
    for began in train:
        for result in only(InnerMessage, journal.entries_at(began.event.inputs)):
            sender = result.event.sender
            if sender and root_of(sender) != root_of(began.thread):
                yield sender


def last_execution(journal: Reading, thread: str) -> str:
    """The path of what was done here last that was no mere aside; else in the channel; empty: nothing.

    In a DM each message may begin a thread, `!trace` itself too.
    """
    for one in chain([thread], _beside(journal, thread)):
        path = _last(journal, one)
        if path:
            return path
    return ""


def _beside(journal: Reading, thread: str) -> Iterator[str]:
    """The conversations of the same channel, those that were begun last first."""
    for opened in journal.latest_first(root_of(thread), Opened):
        yield from journal.threads_opened_under(thread_key(opened.event.team, opened.event.channel, ""))


def _last(journal: Reading, thread: str) -> str:
    began = journal.latest_of_kind(thread, TurnBegan)
    while began and began.event.apart is not None:
        began = journal.latest_of_kind(thread, TurnBegan, before=began.seq)
    if began is None:
        return ""
    return began.event.execution
