"""What an entry of the journal is, and what it says.

Each kind of entry is a frozen dataclass derived from Event. The engine's own kinds stand in `kinds.py`; a
program adds its own and hands them to the journal when it opens it. Nothing registers at import.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from daemon.engine.exceptions import JournalError


class Rank(IntEnum):
    """The order in which a thread takes what waits for it."""

    STOP = 0
    ANSWER = 1
    MESSAGE = 2
    RESUME = 3
    AFTER = 4


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What one entry says. Its fields are JSON: texts, numbers, tuples, mappings."""

    kind: ClassVar[str]
    """The name of this kind in the journal."""
    pending: ClassVar[bool] = False
    """Does an entry of this kind wait until a later one closes it?"""
    closed_by: ClassVar[frozenset[str]] = frozenset()
    """The kinds that may close it, where it is pending."""

    def line(self) -> str:
        """The entry in a few words, for a person who reads the journal."""
        return ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Input(Event):
    """Something that a thread has to take up: a turn begins because one is pending, and closes it."""

    pending: ClassVar[bool] = True
    closed_by: ClassVar[frozenset[str]] = frozenset({"turn-ended", "undeliverable"})
    rank: ClassVar[Rank] = Rank.MESSAGE
    answers: str = ""
    """The key of the question or wait that it answers, if it answers one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent(Event):
    """What a step of an execution records. The engine fills both fields."""

    fingerprint: str = ""
    """What the step asked: compared whenever it is read back."""
    taken_from: str = ""
    """The key in an abandoned execution that this was taken over from."""


E = TypeVar("E", bound=Event, covariant=True)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Generic[E]):
    """One line of the journal. It is never changed and never deleted.

    `cause` is the seq of the entry that it follows from, `closes` those of the pending entries that
    it ends, `at` the time in Unix seconds.
    """

    seq: int
    thread: str
    author: str
    key: str
    cause: int | None
    closes: tuple[int, ...]
    at: float
    event: E

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return self.event.kind


class Kinds:
    """The kinds that a journal knows, and their form as JSON."""

    def __init__(self, classes: Iterable[type[Event]]) -> None:
        self._classes: dict[str, type[Event]] = {}
        for each in classes:
            known = self._classes.setdefault(each.kind, each)
            if known is not each:
                raise ValueError(
                    f"{known.__qualname__} and {each.__qualname__} are both of the kind {each.kind}"
                )
        self._adapters = {name: TypeAdapter(each) for name, each in self._classes.items()}

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The names of the kinds that a thread takes up."""
        return frozenset(name for name, each in self._classes.items() if issubclass(each, Input))

    def __iter__(self) -> Iterator[type[Event]]:
        return iter(self._classes.values())

    def dump(self, event: Event) -> str:
        """The event as JSON. Raises ValueError for a kind that is not known, or a field that is not JSON."""
        adapter = self._adapters.get(event.kind)
        if adapter is None or self._classes[event.kind] is not type(event):
            raise ValueError(
                f"this journal was not opened with the kind {event.kind} ({type(event).__qualname__})"
            )
        return adapter.dump_json(event).decode()

    def load(self, name: str, body: str) -> Event:
        """The event of this JSON. Raises JournalError where it is damaged, or of a kind that is not known."""
        adapter = self._adapters.get(name)
        if adapter is None:
            raise JournalError(
                f"The journal holds an entry of the kind {name}, which this version does not know."
            )
        try:
            return adapter.validate_json(body)
        except ValidationError as error:
            places = ", ".join(".".join(map(str, one["loc"])) or "body" for one in error.errors())
            raise JournalError(f"An entry of the kind {name} is damaged: its {places}.") from None


def fingerprint(*asked: object) -> str:
    """A short hash of what a step asks: the same for the same JSON, events and entries."""
    text = json.dumps(asked, default=_plain, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _plain(value: object) -> Any:
    """What stands for a value that is not JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, type):
        return value.__qualname__
    raise TypeError(f"{type(value).__qualname__} is no value that a step can ask for")
