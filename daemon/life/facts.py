"""What a body did, in figures, for whoever asks with `!trace`: a fold over its entries, no thought in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from daemon.entry import Entry
from daemon.journal.reading import Reading
from daemon.process import Facts

ACTED = re.compile(r'<result of="([^"]*)">')


def facts(body: Sequence[Entry], console: str) -> Facts:
    """Of the body that these entries, all under its path, are."""
    began = next(entry for entry in body if entry.kind == "turn-began")
    calls = [entry.body for entry in body if entry.kind == "model-call"]
    went = [str(entry.body["to"]) for entry in body if entry.kind == "transition"]
    told = [str(entry.body["text"]) for entry in body if entry.kind == "ism"]
    return Facts(
        processes=tuple(dict.fromkeys([began.body["process"], *went])),
        actions=tuple(name for text in told for name in ACTED.findall(text)),
        calls=len(calls),
        tokens=sum(sum(call["usage"].values()) for call in calls),
        usd=sum(call["cost"] for call in calls),
        link=f"{console}#{began.thread}",
    )


def last_body(journal: Reading, thread: str) -> str:
    """The path of what was done here last that was no mere aside; else in the channel; empty: nothing.

    In a DM each message may begin a thread, `!trace` itself too.
    """
    opened = journal.kind("thread")
    here = next(entry.body["channel"] for entry in opened if entry.thread == thread)
    near = [entry.thread for entry in reversed(opened) if entry.body["channel"] == here]
    return next((path for one in (thread, *near) if (path := _last(journal, one))), "")


def _last(journal: Reading, thread: str) -> str:
    began = [entry for entry in journal.of(thread, "turn-began") if "apart" not in entry.body]
    return str(began[-1].body["path"]) if began else ""
