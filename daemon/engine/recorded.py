"""What is recorded of one execution, and what of it this run has read back: the rules of replay.

Every step is looked up here before it is done. A difference between what the code does and what is recorded
is Nondeterminism.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from daemon.engine.event import UNHASHED, Entry, StepEvent, of_kind
from daemon.engine.exceptions import ReplayMismatch
from daemon.engine.keys import (
    context_of,
    enclosing_contexts,
    is_named_by_content,
    is_part,
    is_renamed,
    step_of,
)


class ReplayLog:
    """The steps of an execution: `entries` stand under its path.

    What stands `beside` them is read back, too, and is no step: how an outage was told, and what was done
    before a restart, or before the last words.
    """

    def __init__(self, path: str, entries: Sequence[Entry[Any]], beside: Iterable[Entry[Any]] = ()) -> None:
        self.path = path
        self.log: Sequence[Entry[StepEvent]] = ()
        """The steps of the executions that it stands for, in order."""
        self._entries = {entry.key: entry for entry in [*entries, *beside]}
        steps = of_kind(StepEvent, entries)
        self._unread = {entry.key for entry in steps if not is_renamed(entry.key)}
        self._parts = _parts_by_step(self._unread)
        self._taken = {entry.event.taken_from for entry in steps}
        self._claimed = {path}

    @property
    def is_replaying(self) -> bool:
        """Is anything recorded, in whatever context, that was not read back yet?"""
        return bool(self._unread)

    def add(self, entry: Entry[Any]) -> None:
        """Something that this run has just appended."""
        self._entries[entry.key] = entry

    def enter_context(self, path: str) -> None:
        """The code has come to this context."""
        self._claimed.add(path)

    def find(self, key: str) -> Entry[Any] | None:
        """What is recorded under this key; the look alone changes nothing."""
        return self._entries.get(key)

    def read_back(self, key: str, fingerprint: str = "") -> Entry[Any] | None:
        """Read a step back, or a part of one. Raises Nondeterminism where something else was asked then."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if fingerprint and _asks_else(entry, fingerprint):
            raise ReplayMismatch(f"{key} asks for something else than what is recorded")
        self._unread.discard(key)
        if is_part(key):
            self._read_parts(step_of(key))
        else:
            self._read_parts(key, before=entry.seq)
        return entry

    def _read_parts(self, step: str, before: int | None = None) -> None:
        """The end of a step ends all its parts, and its entry those that were written `before` it."""
        for key in self._parts.get(step, ()):
            if before is None or self._entries[key].seq < before:
                self._unread.discard(key)

    def mark_repeatable(self, step: str) -> None:
        """This step is done again: what a former attempt did of it may be of use, and need not be."""
        self._read_parts(step_of(step))

    def begin_step(self, key: str) -> None:
        """A step that is not recorded is to be done. Raises Nondeterminism where a recorded one was missed.

        What is recorded in this context, and in those that wait for it, must have been read, and each context
        beside it that is recorded must have been claimed. A context named by its content stands alone. What a
        former attempt did of the step itself is gone on from.
        """
        self.mark_repeatable(key)
        if not self._unread:
            return
        line = self._line(context_of(key))
        for unread in self._unread:
            there = context_of(unread)
            if there in line and not is_part(unread):
                raise ReplayMismatch(f"{key} is new, and {unread} was not read")
            passed = self._unclaimed(there)
            if passed and not is_named_by_content(passed) and context_of(passed) in line:
                raise ReplayMismatch(f"{key} is new, and nobody came to {passed}")

    def _line(self, path: str) -> set[str]:
        """This context and those above it, up to the nearest that is named by its content."""
        line = set[str]()
        for above in reversed(enclosing_contexts(path, self.path)):
            line.add(above)
            if is_named_by_content(above):
                break
        return line

    def _unclaimed(self, path: str) -> str | None:
        """The uppermost context on the way to this one that the code has not come to."""
        for above in enclosing_contexts(path, self.path):
            if above not in self._claimed:
                return above
        return None

    def check_all_read(self, path: str) -> None:
        """A context is through, or suspends. Raises Nondeterminism where a recorded step was not read."""
        left = [key for key in self._unread if key.startswith(f"{path}/")]
        if left:
            raise ReplayMismatch(f"{path} came to its end, and {min(left)} was not read")

    def take_over(self, fingerprint: str, finished: tuple[type[StepEvent], ...]) -> Entry[Any] | None:
        """What an abandoned execution finished and asked with the same words; each only once, in order."""
        for entry in self.log:
            fits = entry.event.fingerprint == fingerprint and isinstance(entry.event, finished)
            if fits and entry.key not in self._taken:
                self._taken.add(entry.key)
                return entry
        return None


def _asks_else(entry: Entry[Any], fingerprint: str) -> bool:
    """True if the step is known to have asked something else: what was forgotten is read back as it is."""
    return not entry.forgotten and entry.event.fingerprint not in (fingerprint, UNHASHED)


def _parts_by_step(keys: Iterable[str]) -> Mapping[str, Sequence[str]]:
    parts = defaultdict[str, list[str]](list)
    for key in keys:
        if is_part(key):
            parts[step_of(key)].append(key)
    return parts
