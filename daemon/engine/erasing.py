"""Record what is forgotten by two entries: one names what is to be erased from the file, one says it was.

A kill between the two leaves the first one pending.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from daemon.engine.event import Event
from daemon.engine.keys import part_key


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesForgotten(Event):
    """The words of these entries are forgotten: their bodies are blanked, all else of them stays.

    It is pending until nothing of them is left in the file. It closes what of them still waited: nobody goes
    on with that. `why` says so without their words.
    """

    kind = "forgotten"
    pending = True
    closed_by = frozenset({"erased"})
    state = "being erased"
    stays: ClassVar[tuple[str, ...]] = ("why",)
    seqs: tuple[int, ...]
    why: str

    def line(self) -> str:
        return f"{len(self.seqs)} entries: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesErased(Event):
    """Of what was forgotten nothing is left in the file, nor beside it."""

    kind = "erased"


def erased_key(key: str) -> str:
    """The key of the entry that says that nothing is left of what this one made forgotten."""
    return part_key(key, "erased")
