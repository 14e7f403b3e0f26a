"""What came of what a person said, and of what was noted about them: the entries that are to be forgotten.

One pass over the journal, oldest first: an entry is made only from earlier ones. What was made from what is
told by the seqs that an entry names, by the execution that it belongs to, and by words that stand in it. It
takes rather more than less.

Words of somebody that stand somewhere else: in a quotation, a prompt, a result.

A text is known again by any few words of it in a row. One that is shorter than that, as it is quoted: behind
the name of whoever said it.

Whom a name meant when it was written down: names are not unique, and change.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.engine.event import Entry, Event, EventCodec, root_of
from daemon.engine.kinds import EntriesErased, EntriesForgotten, ThreadEnded, WaitBegan, WaitEnded
from daemon.kinds import (
    ActionObserved,
    BranchAnswer,
    ButtonPress,
    CellRan,
    CommandRan,
    ContextCleared,
    ConversationOpened,
    ForgetRequested,
    IncomingMessage,
    InternalMessage,
    MemoryNote,
    ModelCall,
    NoteCorrected,
    NotesShown,
    PersonMessage,
    PersonModelWritten,
    ProgramEnded,
    ProgramStopRequested,
    PromptVersion,
    QuestionAnswered,
    ReactionChanged,
    ReadingBegan,
    ReadingEnded,
    ReminderFired,
    RestartLog,
    RunMessage,
    SoulTurnBegan,
    SpeechFinished,
    TickLogged,
    UnpromptedMessage,
)
from daemon.knowledge.search import as_indexed


class NameHistory:
    """Who was called what, where, as of the entries that were taken so far.

    So nobody can take the name of somebody else to be shown, or to have forgotten, what was noted about them.
    """

    def __init__(self) -> None:
        self._here: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._anywhere: defaultdict[str, set[str]] = defaultdict(set)
        self._spoke = set[tuple[str, str]]()
        self._names: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def add_entry(self, entry: Entry[Any]) -> None:
        """The next entry."""
        event = entry.event
        if isinstance(event, PersonMessage) and event.name and not entry.forgotten:
            for name in {event.name.casefold(), (event.chosen or event.name).casefold()}:
                self._here[root_of(entry.thread), name].add(event.user)
                self._anywhere[name].add(event.user)
            self._spoke.add((root_of(entry.thread), event.user))
            self._names[event.user][event.name] = None

    def person_named(self, name: str, thread: str) -> str:
        """The person of this name in this conversation, else the only one of all; empty where unsure."""
        name = name.casefold()
        people = self._here.get((root_of(thread), name)) or self._anywhere.get(name, set())
        if len(people) != 1:
            return ""
        [person] = people
        return person

    def names(self, person: str) -> Sequence[str]:
        """What they were called whenever they said something."""
        return [*self._names.get(person, ())]

    def has_spoken(self, person: str, thread: str) -> bool:
        """Has this person said anything in this conversation?"""
        return (root_of(thread), person) in self._spoke


FEW = 5
"""Words in a row that hardly anybody else says in this order."""


MORE = 9
"""The same of what the soul said: it says much alike."""


LETTERS = 8
"""Of a single word that stands for itself."""


WORD = re.compile(r"\w+")


class QuotationFinder:
    """The texts whose words are looked for; none of the owner's."""

    def __init__(self) -> None:
        self._rows: defaultdict[int, set[tuple[str, ...]]] = defaultdict(set)
        """The rows of words that are looked for, by how many words they have."""
        self._firsts: defaultdict[int, set[str]] = defaultdict(set)
        self._owners = set[tuple[str, ...]]()

    def exempt_text(self, text: str) -> None:
        """The owner wrote this: whoever says it says nothing of anybody."""
        words = _words(text)
        for count in (FEW, MORE):
            self._owners.update(_rows(words, count))

    def add_text(self, text: str, name: str = "", few: int = FEW) -> None:
        """Look for this, too, which somebody of this name said."""
        words = _words(text)
        rows = list(_rows(words, few))
        if not rows and words and few == FEW:
            if name:
                rows.append((*_words(name), *words))
            if len(words) > 1 or len(words[0]) >= LETTERS:
                rows.append(tuple(words))
        for row in rows:
            if row not in self._owners:
                self._rows[len(row)].add(row)
                self._firsts[len(row)].add(row[0])

    def is_quoted_in(self, text: str) -> bool:
        """Does any of it stand in this text?"""
        if not self._rows:
            return False
        words = _words(text)
        for count, rows in self._rows.items():
            firsts = self._firsts[count]
            for start in range(len(words) - count + 1):
                if words[start] in firsts and tuple(words[start : start + count]) in rows:
                    return True
        return False


def _rows(words: Sequence[str], count: int) -> Iterator[tuple[str, ...]]:
    for start in range(len(words) - count + 1):
        yield tuple(words[start : start + count])


def _words(text: str) -> list[str]:
    return WORD.findall(as_indexed(text).casefold())


TURN = re.compile(r".*?@\d+")
"""How the key of a step begins: with its execution, or with a later turn of that."""


KEPT = (ConversationOpened, PromptVersion, EntriesForgotten, EntriesErased)
"""What holds nobody's words, whatever it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetScope:
    """What is to be forgotten: all of this person up to the entry `upto`; with `notes`, these alone.

    `gone` are the entries that were forgotten for that before: what was made from them is to be, too.
    """

    person: str
    upto: int
    notes: Sequence[int] = ()
    gone: Collection[int] = ()


class Provenance:
    """Entries are taken in their order; what is to be forgotten is known after the last one."""

    def __init__(self, kinds: EventCodec, wanted: ForgetScope, traces: QuotationFinder) -> None:
        self._kinds = kinds
        self._wanted = wanted
        self._traces = traces
        self._naming = NameHistory()
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

    def add_entry(self, entry: Entry[Any]) -> None:
        """The next entry."""
        self._naming.add_entry(entry)
        self._note_context(entry)
        execution = self._execution(entry.key)
        if entry.seq in self.seqs or self._is_theirs(entry, execution):
            self._mark_forgotten(entry, execution)
        elif execution:
            self._steps[execution].append(entry.seq)

    def _note_context(self, entry: Entry[Any]) -> None:
        """What later entries are understood by."""
        event = entry.event
        person = self._wanted.person
        match event:
            case PromptVersion():
                self._traces.exempt_text(event.text)
            case ConversationOpened(where="dm") if event.user == person:
                self._direct.add(entry.thread)
            case WaitBegan():
                self._awaits[entry.seq] = event.closed
            case IncomingMessage() if event.command and event.user == person:
                self._commands.add(entry.seq)
            case SoulTurnBegan(execution=execution):
                self._execution_of[entry.key.removesuffix("/began")] = execution
                self._inputs[execution] += [seq for seq in event.inputs if seq in self._commands]

    def _execution(self, key: str) -> str:
        """The execution that the entry of this key is part of; empty where it is part of none."""
        turn = TURN.match(key)
        if turn is None:
            return ""
        return self._execution_of.get(turn[0], turn[0])

    def _mark_forgotten(self, entry: Entry[Any], execution: str) -> None:
        """It is to be forgotten, and from here on all that its execution does."""
        self.seqs.add(entry.seq)
        self.threads.add(entry.thread)
        if isinstance(entry.event, ThreadEnded):
            self.seqs.update(entry.closes)  # whoever waited for it is told what came of it
        if execution:
            self.executions.add(execution)
            self.seqs.update(self._inputs.pop(execution, ()))
            if isinstance(entry.event, TickLogged) or self._is_about(entry):
                # Whatever it is, it was thought of before it was written down.
                self.seqs.update(self._steps.pop(execution, ()))
        for text, name, few in _quotable_text(entry.event):
            self._traces.add_text(text, name, few)

    def _is_theirs(self, entry: Entry[Any], execution: str) -> bool:
        event = entry.event
        if isinstance(event, KEPT):
            return False
        if isinstance(event, PersonMessage | ReactionChanged) and not isinstance(event, ReminderFired):
            return self._is_said(entry)
        if execution in self.executions or self._is_about(entry) or self._is_in_their_dm(entry):
            return True
        return self._derives_from_forgotten(entry) or self._traces.is_quoted_in(_shown_text(event))

    def _is_said(self, entry: Entry[Any]) -> bool:
        """Their own messages and reactions; of others what a button reads that stood under such words."""
        event = entry.event
        if isinstance(event, ButtonPress) and self._execution(event.answers) in self.executions:
            return True
        own = event.user == self._wanted.person or self._is_in_their_dm(entry)
        return own and self._is_in_scope(entry)

    def _is_in_their_dm(self, entry: Entry[Any]) -> bool:
        return root_of(entry.thread) in self._direct and self._is_in_scope(entry)

    def _is_about(self, entry: Entry[Any]) -> bool:
        """Is it a note about them that is to be forgotten?"""
        event = entry.event
        person = self._wanted.person
        notes = self._wanted.notes
        if entry.seq in notes:
            return True
        if notes and isinstance(event, NotesShown | ForgetRequested):
            return any(seq in notes for seq in event.seqs)
        if not self._is_in_scope(entry):
            return False
        if isinstance(event, PersonModelWritten | NoteCorrected | NotesShown | ForgetRequested):
            return event.person == person
        if isinstance(event, MemoryNote):
            return self._naming.person_named(event.about, entry.thread) == person
        return isinstance(event, ReminderFired) and event.user == person

    def _is_in_scope(self, entry: Entry[Any]) -> bool:
        """Does all of theirs count, and did it come before they wanted it to be forgotten?"""
        return not self._wanted.notes and entry.seq <= self._wanted.upto

    def _derives_from_forgotten(self, entry: Entry[Any]) -> bool:
        """Does it name anything that is to be forgotten as what it was made from?"""
        event = entry.event
        if isinstance(event, WaitEnded | BranchAnswer) and self._execution(event.answers) in self.executions:
            return True
        awaited = self._awaits.get(entry.cause or 0, ())
        named = [seq for _, seq in self._kinds.referenced_seqs(event)]
        return not self.seqs.isdisjoint([entry.cause, *awaited, *named, *_source_seqs(event)])


def _source_seqs(event: Event) -> Sequence[int]:
    """The entries that it was made from, besides those that the engine knows of."""
    match event:
        case (
            ContextCleared(last=seq)
            | PersonModelWritten(since=seq)
            | NoteCorrected(of=seq)
            | UnpromptedMessage(by=seq)
        ):
            return [seq]
        case ProgramStopRequested(process=seq) | ProgramEnded(process=seq):
            return [seq]
        case QuestionAnswered():
            return [event.input, event.asked]
        case TickLogged():
            return [event.answer, *event.shows, *event.saw]
        case WaitEnded(matched=seqs) | CommandRan(shows=seqs) | NotesShown(seqs=seqs):
            return seqs
    return ()


def _shown_text(event: Event) -> str:
    """What it shows, where words of somebody else may stand, and no seq says whose."""
    match event:
        case ModelCall():
            return event.trailing
        case CellRan():
            return f"{event.text}\n{event.final or ''}"
        case ReadingBegan():
            return f"{event.question}\n{event.shape}\n{event.fault}"
        case ReadingEnded():
            return event.answer
        case ActionObserved() | RunMessage() | RestartLog() | InternalMessage() | CommandRan():
            return event.text
    return ""


def _quotable_text(event: Event) -> Iterator[tuple[str, str, int]]:
    """What of it may be quoted elsewhere, whose words these are, and how many of them tell it."""
    match event:
        case PersonMessage(text=text, name=name, files=files):
            yield text, name, FEW
            for file in files:
                yield file.name, name, FEW
        case PersonModelWritten(text=text) | MemoryNote(text=text) | NoteCorrected(text=text):
            yield text, "", FEW
        case SpeechFinished(text=text) | ContextCleared(text=text):
            yield text, "", MORE
        case CommandRan(args=args):
            for value in args.values():
                if isinstance(value, str):
                    yield value, "", MORE
