"""What an execution did, in figures, for whoever asks with `!trace`: a fold over its entries."""

from __future__ import annotations

import re

from daemon.engine.event import only
from daemon.engine.reading import Reading
from daemon.kinds import ModelCall, Opened, RunTold, TransitionTaken, TurnBegan
from daemon.process import Facts

ACTED = re.compile(r'<result of="([^"]*)">')


def facts(journal: Reading, execution: str, console: str) -> Facts:
    """Of this execution."""
    entries = journal.recorded(execution)
    began = only(TurnBegan, entries)[0]
    calls = [call.event for call in only(ModelCall, entries) if not call.event.taken_from]
    processes = [began.event.process]
    processes += [transition.event.to for transition in only(TransitionTaken, entries)]
    actions: list[str] = []
    for told in only(RunTold, entries):
        actions += ACTED.findall(told.event.text)
    return Facts(
        processes=tuple(dict.fromkeys(processes)),
        actions=tuple(actions),
        calls=len(calls),
        tokens=sum(call.usage.total for call in calls),
        usd=sum(call.cost for call in calls),
        link=f"{console}#{began.thread}",
    )


def last_execution(journal: Reading, thread: str) -> str:
    """The path of what was done here last that was no mere aside; else in the channel; empty: nothing.

    In a DM each message may begin a thread, `!trace` itself too.
    """
    opened = journal.kind(Opened)
    channel = next(entry.event.channel for entry in opened if entry.thread == thread)
    near = [entry.thread for entry in reversed(opened) if entry.event.channel == channel]
    for one in (thread, *near):
        path = _last(journal, one)
        if path:
            return path
    return ""


def _last(journal: Reading, thread: str) -> str:
    began = [entry for entry in journal.of(thread, TurnBegan) if entry.event.apart is None]
    return began[-1].event.execution if began else ""
