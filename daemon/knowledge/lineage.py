"""What came of what a person said, and of what was noted about them: the entries that are to be forgotten.

One pass over the journal, oldest first: an entry is made only from earlier ones. What was made from what is
told by the seqs that an entry names, by the execution that it belongs to, and by words that stand in it. It
takes rather more than less.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.engine.erasing import Erased, Forgotten
from daemon.engine.event import Entry, Event, Kinds
from daemon.engine.keys import root_of
from daemon.engine.kinds import ThreadEnded, Waiting, Woke
from daemon.kinds import (
    Answered,
    CellRan,
    CommandRan,
    ContextCleared,
    Corrected,
    InnerMessage,
    Log,
    Message,
    ModelCall,
    NotesShown,
    Observed,
    Opened,
    PersonLearned,
    Press,
    ProcessEnded,
    ProcessStop,
    Reacted,
    ReadingBegan,
    ReadingEnded,
    Relayed,
    Remembered,
    RunTold,
    Said,
    Spoken,
    Text,
    Ticked,
    Timer,
    ToForget,
    ToSay,
    TurnBegan,
)
from daemon.knowledge.naming import Naming
from daemon.knowledge.traces import FEW, MORE, Traces

EXECUTION = re.compile(r".*?@\d+")
"""How the key of a step begins: with its execution, or with a later turn of that."""
KEPT = (Opened, Text, Forgotten, Erased)
"""What holds nobody's words, whatever it is about."""
REFERENCES: tuple[tuple[type[Event], Callable[[Any], Sequence[int]]], ...] = (
    (ContextCleared, lambda event: [event.last]),
    (PersonLearned, lambda event: [event.since]),
    (Answered, lambda event: [event.input, event.asked]),
    (Woke, lambda event: event.matched),
    (Ticked, lambda event: [event.answer, *event.shows, *event.saw]),
    (CommandRan, lambda event: event.shows),
    (ProcessStop, lambda event: [event.process]),
    (ProcessEnded, lambda event: [event.process]),
    (ToSay, lambda event: [event.by]),
    (Corrected, lambda event: [event.of]),
    (NotesShown, lambda event: event.seqs),
)
"""The entries that these were made from, besides those that the engine knows of."""
SHOWN: tuple[tuple[type[Event], Callable[[Any], str]], ...] = (
    (ModelCall, lambda event: event.trailing),
    (Observed, lambda event: event.text),
    (CellRan, lambda event: f"{event.text}\n{event.final or ''}"),
    (ReadingBegan, lambda event: f"{event.question}\n{event.shape}\n{event.fault}"),
    (ReadingEnded, lambda event: event.answer),
    (RunTold, lambda event: event.text),
    (Log, lambda event: event.text),
    (InnerMessage, lambda event: event.text),
    (CommandRan, lambda event: event.text),
)
"""Where words of somebody else may stand, and no seq says whose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be forgotten: all of this person up to the entry `upto`; with `notes`, these alone.

    `gone` are the entries that were forgotten for that before: what was made from them is to be, too.
    """

    person: str
    upto: int
    notes: Sequence[int] = ()
    gone: Collection[int] = ()


class Lineage:
    """Entries are taken in their order; what is to be forgotten is known after the last one."""

    def __init__(self, kinds: Kinds, wanted: Wanted, traces: Traces) -> None:
        self._kinds = kinds
        self._wanted = wanted
        self._traces = traces
        self._naming = Naming()
        self._direct = set[str]()
        """The threads of this person's DMs."""
        self._execution_of = dict[str, str]()
        """The turn that goes on with an execution, and that."""
        self._inputs: defaultdict[str, list[int]] = defaultdict(list)
        """What each execution has taken up that was a command of theirs."""
        self._commands = set[int]()
        self._steps: defaultdict[str, list[int]] = defaultdict(list)
        """What each execution has written down so far."""
        self._awaits = dict[int, Sequence[int]]()
        """The waits, and the entries whose ends they wait for."""
        self.seqs = set(wanted.gone)
        """What is to be forgotten, with what already is."""
        self.executions = set[str]()
        """The executions that have seen any of it."""
        self.threads = set[str]()
        """Where any of it stands."""

    def take(self, entry: Entry[Any]) -> None:
        """The next entry."""
        event = entry.event
        self._naming.take(entry)
        if isinstance(event, Text):
            self._traces.owned(event.text)
        if isinstance(event, Opened) and (event.where, event.user) == ("dm", self._wanted.person):
            self._direct.add(entry.thread)
        if isinstance(event, Waiting):
            self._awaits[entry.seq] = event.closed
        execution = self._execution(entry)
        if isinstance(event, Message) and event.command and event.user == self._wanted.person:
            self._commands.add(entry.seq)
        if entry.seq in self.seqs or self._is_theirs(entry, execution):
            self._spread(entry, execution)
        elif execution:
            self._steps[execution].append(entry.seq)

    def _spread(self, entry: Entry[Any], execution: str) -> None:
        """It is to be forgotten, and from here on all that its execution does."""
        self.seqs.add(entry.seq)
        self.threads.add(entry.thread)
        if isinstance(entry.event, ThreadEnded):
            self.seqs.update(entry.closes)  # whoever waited for it is told what came of it
        if execution:
            self.executions.add(execution)
            self.seqs.update(self._inputs.pop(execution, ()))
        thought_before = self._is_about(entry) or isinstance(entry.event, Ticked)
        if execution and thought_before:  # whatever it is, it was thought of before it was written down
            self.seqs.update(self._steps.pop(execution, ()))
        for text, name, few in _worded(entry.event):
            self._traces.add(text, name, few)

    def _is_theirs(self, entry: Entry[Any], execution: str) -> bool:
        event = entry.event
        if isinstance(event, KEPT):
            return False
        if isinstance(event, Said | Reacted) and not isinstance(event, Timer):
            return self._is_said(entry)
        if execution in self.executions or self._is_about(entry) or self._is_in_their_dm(entry):
            return True
        return self._was_made(entry) or self._shows(event)

    def _is_said(self, entry: Entry[Any]) -> bool:
        """Their own messages and reactions; of others what a button reads that stood under such words."""
        event = entry.event
        if isinstance(event, Press) and self._began(event.answers) in self.executions:
            return True
        own = event.user == self._wanted.person or self._is_in_their_dm(entry)
        return own and self._counts(entry)

    def _is_in_their_dm(self, entry: Entry[Any]) -> bool:
        return root_of(entry.thread) in self._direct and self._counts(entry)

    def _is_about(self, entry: Entry[Any]) -> bool:
        """Is it a note about them that is to be forgotten?"""
        event, person = entry.event, self._wanted.person
        notes = self._wanted.notes
        if entry.seq in notes:
            return True
        if notes and isinstance(event, NotesShown | ToForget):
            return any(seq in notes for seq in event.seqs)
        if not self._counts(entry):
            return False
        if isinstance(event, PersonLearned | Corrected | NotesShown | ToForget):
            return event.person == person
        if isinstance(event, Remembered):
            return self._naming.whose(event.about, entry.thread) == person
        return isinstance(event, Timer) and event.user == person

    def _counts(self, entry: Entry[Any]) -> bool:
        """Does all of theirs count, and did it come before they wanted it to be forgotten?"""
        return not self._wanted.notes and entry.seq <= self._wanted.upto

    def _was_made(self, entry: Entry[Any]) -> bool:
        """Does it name anything that is to be forgotten as what it was made from?"""
        event = entry.event
        if any(seq in self.seqs for seq in self._awaits.get(entry.cause or 0, ())):
            return True
        if entry.cause in self.seqs or any(seq in self.seqs for _, seq in self._kinds.seqs(event)):
            return True
        if isinstance(event, Woke | Relayed) and self._began(event.answers) in self.executions:
            return True
        kind: Any = type(event)
        return any(seq in self.seqs for refers in _references(kind) for seq in refers(event))

    def _shows(self, event: Event) -> bool:
        kind: Any = type(event)
        return any(self._traces.found_in(shown(event)) for shown in _shown(kind))

    def _execution(self, entry: Entry[Any]) -> str:
        """The execution that it belongs to; empty where it is part of none."""
        found = EXECUTION.match(entry.key)
        if not found or entry.key == found[0]:
            return ""
        if isinstance(entry.event, TurnBegan):
            self._execution_of[found[0]] = entry.event.execution
            self._inputs[entry.event.execution] += [s for s in entry.event.inputs if s in self._commands]
        return self._execution_of.get(found[0], found[0])

    def _began(self, key: str) -> str:
        """The execution in which the entry of this key stands."""
        found = EXECUTION.match(key)
        return self._execution_of.get(found[0], found[0]) if found else ""


@functools.cache
def _references(kind: Any) -> Sequence[Callable[[Any], Sequence[int]]]:
    return [refers for base, refers in REFERENCES if issubclass(kind, base)]


@functools.cache
def _shown(kind: Any) -> Sequence[Callable[[Any], str]]:
    return [shown for base, shown in SHOWN if issubclass(kind, base)]


def _worded(event: Event) -> Iterator[tuple[str, str, int]]:
    """What of it may be quoted elsewhere, whose words these are, and how many of them tell it."""
    match event:
        case Said(text=text, name=name, files=files):
            yield text, name, FEW
            for file in files:
                yield file.name, name, FEW
        case PersonLearned(text=text) | Remembered(text=text) | Corrected(text=text):
            yield text, "", FEW
        case Spoken(text=text) | ContextCleared(text=text):
            yield text, "", MORE
        case CommandRan(args=args):
            for value in args.values():
                if isinstance(value, str):
                    yield value, "", MORE
