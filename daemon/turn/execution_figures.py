"""The answer to `!trace`: the figures of an execution."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from daemon.engine.event import Entry, of_kind, root_of
from daemon.engine.journal.reader import JournalReader
from daemon.engine.kinds import ThreadSpawned
from daemon.kinds import (
    ConversationOpened,
    InternalMessage,
    ModelCall,
    ProcessChanged,
    RunMessage,
    SoulTurnBegan,
    thread_key,
)
from daemon.prompts.elements import parse_labels
from daemon.prompts.prompt_catalogue import LABELS_TEXT
from daemon.turn.history import executions_of_train
from daemon.turn.turn import Turn

ACTED = re.compile(r'<result of="([^"]*)">')


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFigures:
    """The figures of one matter: of one execution, or of all steps of open thought, with their branches.

    `usd` was billed; `worth` is the price of the same if nothing is billed, in a rehearsal. `link` leads to
    the thread on the page; empty if there is no address.
    """

    processes: tuple[str, ...]
    actions: tuple[str, ...]
    calls: int
    tokens: int
    usd: float
    worth: float
    link: str


def execution_figures(journal: JournalReader, execution: str, console: str) -> ExecutionFigures:
    """Return calls, tokens, dollars and time of an execution and of the earlier ones in its train of thought.

    `console`: address of the page, for the link.
    """
    began = of_kind(SoulTurnBegan, journal.execution_entries(execution))[0]
    train = executions_of_train(journal, began.thread, began)
    entries: list[Entry[Any]] = []
    processes: list[str] = []
    for one in train:
        recorded = journal.execution_entries(one.event.execution)
        entries += recorded
        processes += [one.event.process, *(taken.event.to for taken in of_kind(ProcessChanged, recorded))]
    link = ""
    if console:
        link = f"{console}/#{began.thread}"
    calls = [call.event for call in _calls(journal, entries) if not call.event.taken_from]
    return ExecutionFigures(
        processes=tuple(dict.fromkeys(processes)),
        actions=tuple(_actions(journal, train, entries)),
        calls=len(calls),
        tokens=sum(call.usage.total for call in calls),
        usd=sum(call.cost for call in calls),
        worth=sum(call.worth for call in calls),
        link=link,
    )


def _calls(journal: JournalReader, entries: Sequence[Entry[Any]]) -> Iterator[Entry[ModelCall]]:
    yield from of_kind(ModelCall, entries)
    for spawned in of_kind(ThreadSpawned, entries):
        yield from journal.tree_entries(spawned.event.thread, ModelCall)


def _actions(
    journal: JournalReader, train: Sequence[Entry[SoulTurnBegan]], entries: Sequence[Entry[Any]]
) -> Iterator[str]:
    for told in of_kind(RunMessage, entries):
        yield from ACTED.findall(told.event.text)
    for began in train:
        for result in of_kind(InternalMessage, journal.entries_at(began.event.inputs)):
            sender = result.event.sender
            if sender and root_of(sender) != root_of(began.thread):
                yield sender


def last_execution(journal: JournalReader, thread: str) -> str:
    """Return the last execution of a thread or else of its channel; empty if none.

    In a DM each message may begin a thread, even `!trace` itself.
    """
    for one in chain([thread], _beside(journal, thread)):
        path = _last(journal, one)
        if path:
            return path
    return ""


def _beside(journal: JournalReader, thread: str) -> Iterator[str]:
    for opened in journal.latest_first(root_of(thread), ConversationOpened):
        yield from journal.threads_opened_under(thread_key(opened.event.team, opened.event.channel, ""))


def _last(journal: JournalReader, thread: str) -> str:
    began = journal.latest_of_kind(thread, SoulTurnBegan)
    while began and began.event.apart is not None:
        began = journal.latest_of_kind(thread, SoulTurnBegan, before=began.seq)
    if began is None:
        return ""
    return began.event.execution


def figures_of_turn(turn: Turn) -> ExecutionFigures | None:
    """Return what this execution has done, with its train of thought.

    For one that stands apart, return what the one before it did.
    """
    execution = turn.execution.id
    if turn.apart is not None:
        execution = last_execution(turn.journal, turn.thread)
    if not execution:
        return None
    return execution_figures(turn.journal, execution, turn.deps.console)


REHEARSED_TEXT = "prompts/sentences/trace_rehearsed"
"""Name of the text that replaces the cost when nothing is billed."""


def trace_text(turn: Turn) -> str:
    """Return the answer to `!trace`."""
    facts = figures_of_turn(turn)
    if facts is None:
        return turn.prompt("prompts/sentences/nothing_traced")
    told = turn.prompt(
        "prompts/trace",
        processes=" → ".join(_labelled(turn, facts.processes)),
        actions=", ".join(_labelled(turn, facts.actions)) or "none",
        calls=str(facts.calls),
        tokens=f"{facts.tokens:,}",
        cost=_cost(turn, facts),
    )
    if facts.link:
        told += "\n" + turn.prompt("prompts/sentences/trace_link", link=facts.link)
    return told


def _cost(turn: Turn, facts: ExecutionFigures) -> str:
    if facts.usd or not facts.worth:
        return f"${facts.usd:.4f}"
    return turn.prompt(REHEARSED_TEXT, worth=f"${facts.worth:.4f}")


def _labelled(turn: Turn, names: Sequence[str]) -> list[str]:
    known = parse_labels(turn.text(LABELS_TEXT))
    return [known.get(name, name) for name in names]
