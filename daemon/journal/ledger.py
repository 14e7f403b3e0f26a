"""What a replay knows after each entry: who was there, what is owed, who is at work.

Filled by verify.py, asked by its rules.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from sys import intern
from typing import Any

from daemon.entry import LEASES, OPENERS, Entry


@dataclass(slots=True, kw_only=True)
class Half:
    """A turn that has begun and not ended."""

    began: int
    path: str
    id: str
    took: list[int]
    attempt: int = 1
    seen: set[int] = field(default_factory=set)
    """What it has looked up in the middle."""


class Ledger:
    """A journal up to one entry."""

    def __init__(self) -> None:
        self.owed: defaultdict[str, dict[int, str]] = defaultdict(dict)
        """Thread to its open debts: seq to kind."""
        self.lease: dict[str, int] = {}
        self.halves: dict[str, Half] = {}
        self.places: dict[str, tuple[Any, Any]] = {}
        """Thread to its team and channel."""
        self.texts: set[str] = set()
        self.claimed: dict[tuple[object, str], int] = {}
        """A message in Slack, by its channel and ts, and the speech that it is."""
        self.stamps: dict[int, str] = {}
        """A speech, and the ts of its message."""
        self.last = 0
        self._there: dict[int, tuple[str, str]] = {}
        """Each entry's kind and thread."""

    @property
    def count(self) -> int:
        """How many entries there were."""
        return len(self._there)

    def kind(self, seq: int) -> str:
        """The kind of an entry that was there; empty when there was none."""
        return self._there.get(seq, ("", ""))[0]

    def thread(self, seq: int) -> str:
        """The thread of an entry that was there; empty when there was none."""
        return self._there.get(seq, ("", ""))[1]

    def is_owed(self, seq: int) -> bool:
        """Is this debt still open?"""
        return seq in self.owed[self.thread(seq)]

    def fold(self, entry: Entry) -> None:
        """One entry more, with all that it changes."""
        self.last = entry.seq
        self._there[entry.seq] = intern(entry.kind), intern(entry.thread)
        for seq in entry.closes:
            self.owed[self.thread(seq)].pop(seq, None)
        if entry.kind in OPENERS:
            self.owed[entry.thread][entry.seq] = entry.kind
        if entry.kind in LEASES:
            self.lease[entry.thread] = entry.seq
        self._remember(entry)

    def _remember(self, entry: Entry) -> None:
        body = entry.body
        match entry.kind:
            case "thread":
                self.places[entry.thread] = (body.get("team"), body.get("channel"))
            case "text":
                self.texts.add(entry.key.removeprefix("text:"))
            case "turn-began" if body:
                name = entry.key.removesuffix("/began")
                half = Half(began=entry.seq, path=body["path"], id=name, took=body["took"])
                self.halves[entry.thread] = half
            case "look" if body and entry.thread in self.halves:
                self.halves[entry.thread].seen.update(body["seqs"])
            case "turn-resumed" if entry.thread in self.halves:
                self.halves[entry.thread].attempt += 1
            case "turn-ended":
                self.halves.pop(entry.thread, None)
            case "speech-started" | "spoken" if body and entry.cause:
                self.claimed[self.where(entry)] = entry.cause
                self.stamps[entry.cause] = body["ts"]

    def where(self, entry: Entry) -> tuple[object, str]:
        """The message in Slack that an entry names."""
        return self.places.get(entry.thread, entry.thread), entry.body["ts"]
