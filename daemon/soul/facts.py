"""What an execution did, in figures, for whoever asks with `!trace`: a fold over its entries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from daemon.engine.event import only
from daemon.engine.keys import root_of
from daemon.engine.reading import Reading
from daemon.kinds import ModelCall, Opened, RunTold, TransitionTaken, TurnBegan, thread_key
from daemon.process import Facts

ACTED = re.compile(r'<result of="([^"]*)">')


def facts(journal: Reading, execution: str, console: str) -> Facts:
    """Of this execution."""
    entries = journal.recorded(execution)
    began = only(TurnBegan, entries)[0]
    processes = [began.event.process]
    processes += [transition.event.to for transition in only(TransitionTaken, entries)]
    actions: list[str] = []
    for told in only(RunTold, entries):
        actions += ACTED.findall(told.event.text)
    calls = [call.event for call in only(ModelCall, entries) if not call.event.taken_from]
    link = ""
    if console:
        link = f"{console}/#{began.thread}"
    return Facts(
        processes=tuple(dict.fromkeys(processes)),
        actions=tuple(actions),
        calls=len(calls),
        tokens=sum(call.usage.total for call in calls),
        usd=sum(call.cost for call in calls),
        link=link,
    )


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
        yield from journal.threads_below(thread_key(opened.event.team, opened.event.channel, ""))


def _last(journal: Reading, thread: str) -> str:
    began = journal.latest(thread, TurnBegan)
    while began and began.event.apart is not None:
        began = journal.latest(thread, TurnBegan, before=began.seq)
    if began is None:
        return ""
    return began.event.execution
