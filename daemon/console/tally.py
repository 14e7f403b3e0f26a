"""What the daemon did since it started, counted from the journal when somebody asks. Read by metrics.py."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any

from daemon.entry import Entry
from daemon.journal.journal import Journal

BITE = 200
"""Entries that are read at once; between two bites everybody else may run."""


class Tally:
    """Counts over the entries that were appended since it was made. Each is read once."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seq = journal.last()
        self.entries = Counter[str]()
        """By kind."""
        self.turns = Counter[str]()
        """Ended ones, by outcome."""
        self.calls = Counter[tuple[str, str]]()
        """Model calls, by model and outcome."""
        self.tokens = Counter[tuple[str, str]]()
        """By model and sort: input, cache_read, cache_write, output."""
        self.dollars: dict[str, float] = {}
        """What was billed, by model."""
        self.caught_up: float | None = None
        """Up to when everything that was said has been read, in Unix seconds; None while nobody looked."""

    async def catch_up(self) -> None:
        """Count what came since the last time."""
        while entries := self._journal.since(self._seq, limit=BITE):
            self._seq = entries[-1].seq
            for entry in entries:
                self._count(entry)
            await asyncio.sleep(0)

    def _count(self, entry: Entry) -> None:
        self.entries[entry.kind] += 1
        match entry.kind:
            case "turn-ended":
                self.turns[entry.body["outcome"]] += 1
            case "model-call":
                self._pay(entry.body)
            case "caught-up":
                self.caught_up = entry.body["until"]

    def _pay(self, call: Mapping[str, Any]) -> None:
        model = call["model"]
        self.calls[model, call["outcome"]] += 1
        self.tokens.update({(model, sort): count for sort, count in call["usage"].items()})
        self.dollars[model] = self.dollars.get(model, 0.0) + call["cost"]
