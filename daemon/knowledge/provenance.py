"""Provenance: entries made from a person's words, or from notes about the person, which must be forgotten.

The journal is read once, oldest entry first. Sources of an entry are the seqs that it names, its execution,
and quotations: several words in a row, or a short text behind its author's name. In doubt, an entry is
forgotten. A name means the person who had it at that time.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.engine.event import Entry, Event, EventCodec, root_of
from daemon.engine.kinds import EntriesErased, EntriesForgotten, ThreadEnded, WaitBegan, WaitEnded
from daemon.kinds import (
    ActionObserved,
    ActionStarted,
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
    ProgramPlaced,
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
    ToolCallRequested,
    UnpromptedMessage,
)
from daemon.knowledge.search import as_indexed


class NameHistory:
    """Names of people by conversation, as of the entry added last.

    Ambiguous names count for nobody, so nobody can claim another person's notes by a name.
    """

    def __init__(self) -> None:
        self._here: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._anywhere: defaultdict[str, set[str]] = defaultdict(set)
        self._spoke = set[tuple[str, str]]()
        self._names: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def add_entry(self, entry: Entry[Any]) -> None:
        event = entry.event
        if isinstance(event, PersonMessage) and event.name and not entry.forgotten:
            for name in {event.name.casefold(), (event.chosen or event.name).casefold()}:
                self._here[root_of(entry.thread), name].add(event.user)
                self._anywhere[name].add(event.user)
            self._spoke.add((root_of(entry.thread), event.user))
            self._names[event.user][event.name] = None

    def person_named(self, name: str, thread: str) -> str:
        """Return the person of this name in the conversation, else the only one anywhere;
        empty if ambiguous.
        """
        name = name.casefold()
        people = self._here.get((root_of(thread), name)) or self._anywhere.get(name, set())
        if len(people) != 1:
            return ""
        [person] = people
        return person

    def names(self, person: str) -> Sequence[str]:
        return [*self._names.get(person, ())]

    def has_spoken(self, person: str, thread: str) -> bool:
        return (root_of(thread), person) in self._spoke


FEW = 5
"""Words in a row that count as a quotation of a person."""


MORE = 9
"""Words in a row that count as a quotation of the soul, whose texts are more alike."""


LETTERS = 8
"""Letters from which a single word counts as a quotation."""


WORD = re.compile(r"\w+")


class QuotationFinder:
    """Finder of quotations, except of the owner's prompts."""

    def __init__(self) -> None:
        self._rows: defaultdict[int, set[tuple[str, ...]]] = defaultdict(set)
        self._firsts: defaultdict[int, set[str]] = defaultdict(set)
        self._owners = set[tuple[str, ...]]()

    def exempt_text(self, text: str) -> None:
        words = _words(text)
        for count in (FEW, MORE):
            self._owners.update(_rows(words, count))

    def add_text(self, text: str, name: str = "", few: int = FEW) -> None:
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


KEPT = (ConversationOpened, PromptVersion, EntriesForgotten, EntriesErased)
"""Kinds of entries that hold nobody's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetScope:
    """Content to forget: all of a person up to the seq `upto`, or only the entries `notes`.

    `gone` are entries forgotten before.
    """

    person: str
    upto: int
    notes: Sequence[int] = ()
    gone: Collection[int] = ()


class Provenance:
    """Entries to forget; complete once all entries were added in order."""

    def __init__(self, kinds: EventCodec, wanted: ForgetScope, traces: QuotationFinder) -> None:
        self._kinds = kinds
        self._wanted = wanted
        self._traces = traces
        self._naming = NameHistory()
        self._direct = set[str]()
        self._execution_of = dict[str, str]()
        self._inputs: defaultdict[str, list[int]] = defaultdict(list)
        self._commands = set[int]()
        self._steps: defaultdict[str, list[int]] = defaultdict(list)
        self._awaits = dict[int, Sequence[int]]()
        self.seqs = set(wanted.gone)
        """Entries to forget, or already forgotten."""
        self.executions = set[str]()
        self.threads = set[str]()

    def add_entry(self, entry: Entry[Any]) -> None:
        self._naming.add_entry(entry)
        self._note_context(entry)
        execution = self._execution(entry.key)
        if entry.seq in self.seqs or self._is_theirs(entry, execution):
            self._mark_forgotten(entry, execution)
        elif execution:
            self._steps[execution].append(entry.seq)

    def _note_context(self, entry: Entry[Any]) -> None:
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
        turn = TURN.match(key)
        if turn is None:
            return ""
        return self._execution_of.get(turn[0], turn[0])

    def _mark_forgotten(self, entry: Entry[Any], execution: str) -> None:
        """Mark an entry and its execution; for a note, also the execution's earlier entries."""
        self.seqs.add(entry.seq)
        self.threads.add(entry.thread)
        if isinstance(entry.event, ThreadEnded):
            self.seqs.update(entry.closes)  # the waiting threads got the result
        if execution:
            self.executions.add(execution)
            self.seqs.update(self._inputs.pop(execution, ()))
            if isinstance(entry.event, TickLogged) or self._is_about(entry):
                # The content was seen before this entry was written, so earlier steps count, too.
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
        event = entry.event
        if isinstance(event, ButtonPress) and self._execution(event.answers) in self.executions:
            return True
        own = event.user == self._wanted.person or self._is_in_their_dm(entry)
        return own and self._is_in_scope(entry)

    def _is_in_their_dm(self, entry: Entry[Any]) -> bool:
        return root_of(entry.thread) in self._direct and self._is_in_scope(entry)

    def _is_about(self, entry: Entry[Any]) -> bool:
        """True for notes in scope, for lists of such notes, and for requests to forget them."""
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
        return not self._wanted.notes and entry.seq <= self._wanted.upto

    def _derives_from_forgotten(self, entry: Entry[Any]) -> bool:
        event = entry.event
        if isinstance(event, WaitEnded | BranchAnswer) and self._execution(event.answers) in self.executions:
            return True
        awaited = self._awaits.get(entry.cause or 0, ())
        named = [seq for _, seq in self._kinds.referenced_seqs(event)]
        return not self.seqs.isdisjoint([entry.cause, *awaited, *named, *_source_seqs(event)])


def _source_seqs(event: Event) -> Sequence[int]:
    """Return sources in fields that the engine does not know as references."""
    match event:
        case (
            ContextCleared(last=seq)
            | PersonModelWritten(since=seq)
            | NoteCorrected(of=seq)
            | UnpromptedMessage(by=seq)
            | ToolCallRequested(by=seq)
        ):
            return [seq]
        case ProgramStopRequested(process=seq) | ProgramPlaced(process=seq) | ProgramEnded(process=seq):
            return [seq]
        case QuestionAnswered():
            return [event.input, event.asked]
        case TickLogged():
            return [event.answer, *event.shows, *event.saw]
        case WaitEnded(matched=seqs) | CommandRan(shows=seqs) | NotesShown(seqs=seqs):
            return seqs
    return ()


def _shown_text(event: Event) -> str:
    """Return text that may quote others although its entry names no source."""
    match event:
        case ModelCall():
            return event.trailing
        case CellRan():
            return f"{event.text}\n{event.final or ''}"
        case ReadingBegan():
            return f"{event.question}\n{event.shape}\n{event.fault}"
        case ReadingEnded():
            return event.answer
        case ActionObserved(text=text, details={"document": {"text": whole}}):
            return f"{text}\n{whole}"
        case ActionStarted() if event.is_tool_call:
            return json.dumps(event.args, ensure_ascii=False)
        case ActionObserved() | RunMessage() | RestartLog() | InternalMessage() | CommandRan():
            return event.text
    return ""


def _quotable_text(event: Event) -> Iterator[tuple[str, str, int]]:
    """Yield text that may be quoted, its author, and the number of words in a row that count."""
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
