"""Is the journal whole? A replay of all entries that keeps every rule, compared with what is stored.

It changes nothing. A program hands in rules of its own for what the engine cannot know.

What must be true of each entry, as far as the entries before it tell.

A rule is given the ledger as it was before the entry; it yields whom it concerns, and a plain sentence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from sys import intern
from typing import Any

from daemon.engine.event import (
    PART,
    Entry,
    Event,
    EventCodec,
    Input,
    StepEvent,
    forgotten_mark,
    root_of,
    seq_fields,
)
from daemon.engine.journal.reader import JournalReader
from daemon.engine.journal.rows import Stored, digest_of_row, entry_from_row, parse_seqs
from daemon.engine.kinds import (
    LEASES,
    EntriesForgotten,
    InputsReceived,
    ThreadSpawned,
    TurnBegan,
    TurnEnded,
    TurnResumed,
    WaitBegan,
    WaitEnded,
    turn_id,
)

RuleFindings = Iterator[tuple[int, str]]


NOTHING = ("", "")
"""Kind and thread of an entry that is not there."""


@dataclass(slots=True, kw_only=True)
class OpenTurn:
    """A turn that has begun and not ended."""

    began: int
    execution: str
    inputs: Sequence[int]
    paths: tuple[str, ...]
    """How the keys begin of what it writes."""
    attempt: int = 1


class ReplayState:
    """What a replay knows after each entry: who was there, what is pending, who is at work."""

    def __init__(self, kinds: EventCodec) -> None:
        self.kinds = kinds
        self.pending: defaultdict[str, dict[int, str]] = defaultdict(dict)
        """Thread to its pending entries: seq to kind."""
        self.leases: dict[str, int] = {}
        self.halves: dict[str, OpenTurn] = {}
        self.seen: defaultdict[str, set[int]] = defaultdict(set)
        """Each execution's inputs, and what else it has received."""
        self.woken = set[int | None]()
        """The waits that have come to their end."""
        self.children: dict[int, str] = {}
        """What began a thread under another one, and which."""
        self.blank: dict[int, int] = {}
        """The entries whose bodies are blank, each with the one that says that it was forgotten."""
        self.forgotten: dict[int, Sequence[int]] = {}
        """The entries that say so, and of which."""
        self.brought: defaultdict[str, set[int]] = defaultdict(set)
        """Root of a tree of threads to the entries of other trees that it may name."""
        self.last = 0
        self._there: dict[int, tuple[str, str]] = {}
        """Each entry's kind and thread."""
        self._leasing = frozenset(kinds.kind_names(LEASES))
        self.owing = frozenset(each.receipt_of for each in kinds)
        """The kinds of which there are receipts."""

    @property
    def entry_count(self) -> int:
        """How many entries there were."""
        return len(self._there)

    def kind_of(self, seq: int | None) -> str:
        """The kind of an entry that was there; empty where there was none."""
        return self._there.get(seq or 0, NOTHING)[0]

    def event_class_of(self, seq: int | None) -> type[Event]:
        """The class of an entry that was there; Event where there was none."""
        return self.kinds.class_of_kind(self.kind_of(seq)) or Event

    def thread_of(self, seq: int) -> str:
        """The thread of an entry that was there; empty where there was none."""
        return self._there.get(seq, NOTHING)[1]

    @property
    def seen_threads(self) -> set[str]:
        """The threads in which anything stands."""
        return {thread for _, thread in self._there.values()}

    def is_pending(self, seq: int) -> bool:
        """Has no entry closed it yet?"""
        return seq in self.pending[self.thread_of(seq)]

    def add_row(self, seq: int, thread: str, kind: str, closes: Sequence[int]) -> None:
        """One row more, with all that it changes even where its body cannot be read."""
        event = self.kinds.class_of_kind(kind) or Event
        self.last = seq
        self._there[seq] = intern(kind), intern(thread)
        for closed in closes:
            self.pending[self.thread_of(closed)].pop(closed, None)
        if event.pending:
            self.pending[thread][seq] = kind
        if kind in self._leasing:
            self.leases[thread] = seq
        if issubclass(event, TurnEnded):
            self.halves.pop(thread, None)

    def fold_entry(self, entry: Entry[Any]) -> None:
        """What the body of this entry tells."""
        event, half = entry.event, self.halves.get(entry.thread)
        if entry.forgotten:
            self.blank[entry.seq] = entry.forgotten
        if event.brings:
            for _, seq in self.kinds.referenced_seqs(event):
                self.brought[root_of(entry.thread)].add(seq)
        if isinstance(event, EntriesForgotten):
            self.forgotten[entry.seq] = event.seqs
        elif isinstance(event, TurnBegan):
            self.halves[entry.thread] = OpenTurn(
                began=entry.seq,
                execution=event.execution,
                inputs=event.inputs,
                paths=(*_beginnings(event.execution), *_beginnings(turn_id(entry))),
            )
            self.seen[event.execution].update(event.inputs)
        elif isinstance(event, InputsReceived) and half:
            self.seen[half.execution].update(event.inputs)
        elif isinstance(event, TurnResumed) and half:
            half.attempt += 1
        elif isinstance(event, WaitEnded):
            self.woken.add(entry.cause)
        elif isinstance(event, ThreadSpawned):
            self.children[entry.seq] = event.thread

    def is_tree_busy(self, thread: str) -> bool:
        """Is anything pending in this thread, or under it?"""
        for name, waiting in self.pending.items():
            if waiting and (name == thread or name.startswith(f"{thread}.")):
                return True
        return False


def _beginnings(name: str) -> tuple[str, ...]:
    """How the keys begin of what belongs to a turn, or an execution, of this name."""
    return f"{name}/", f"{name}~", f"{name}{PART}"


@dataclass(frozen=True, slots=True)
class JournalRule:
    """A check, and whether it may have anything to say of entries of a class: of others it is not asked.

    A violation of it is called by its name.
    """

    name: str
    check: Callable[[ReplayState, Entry[Any]], RuleFindings]
    concerns: Callable[[type[Event]], bool]


def concerns_every_kind(_: type[Event]) -> bool:
    """Concerns every kind."""
    return True


def _names_others(event: Any) -> bool:
    return bool(seq_fields(event))


def _owes_a_receipt(event: type[Event]) -> bool:
    """Is it one, or may it come where one is missing?"""
    return bool(event.receipt_of) or issubclass(event, TurnEnded)


def _is_within_turn(event: type[Event]) -> bool:
    return event.within_turn


@dataclass(frozen=True, slots=True)
class KindFilter:
    """Concerns entries of these classes, and of those that derive from them."""

    classes: tuple[type[Event], ...]

    def __call__(self, event: type[Event]) -> bool:
        return issubclass(event, self.classes)


def cause(ledger: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """The one entry without which this one would not exist was there before it."""
    if entry.cause is not None and not ledger.kind_of(entry.cause):
        yield entry.seq, f"its cause, {entry.cause}, is not there"


def closes(ledger: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """What is closed is of a kind that waits, and this kind of entry can close it."""
    for seq in entry.closes:
        kind = ledger.kind_of(seq)
        if not kind:
            yield entry.seq, f"it closes {seq}, which is not there"
        elif not may_close(entry, ledger.event_class_of(seq)):
            yield entry.seq, f"it closes {seq}, but no {entry.kind} closes a {kind}"


def may_close(entry: Entry[Any], closed: type[Event]) -> bool:
    """Does such an entry end one of this kind? Any input may end a wait: the program says what it becomes."""
    if issubclass(closed, WaitBegan) and isinstance(entry.event, Input):
        return True
    return entry.kind in closed.closed_by


def doubled(ledger: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """What is pending is closed once."""
    for n, seq in enumerate(entry.closes):
        again = seq in entry.closes[:n] or not ledger.is_pending(seq)
        if ledger.event_class_of(seq).pending and again:
            yield entry.seq, f"it closes {seq} once more: that {ledger.kind_of(seq)} was closed before"


def refers(ledger: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """The entries that an event lists were there before it, in the same tree of threads, or were brought into
    it. What stands for words that are gone may be anywhere."""
    root = root_of(entry.thread)
    for field, seq in ledger.kinds.referenced_seqs(entry.event):
        there = ledger.thread_of(seq)
        if there == entry.thread:
            continue
        if not there:
            yield entry.seq, f"its {field} names {seq}, which is not there"
        elif entry.event.brings or seq in ledger.brought[root]:
            continue
        elif root_of(there) != root and not issubclass(ledger.event_class_of(seq), EntriesForgotten):
            yield entry.seq, f"its {field} names {seq}, which belongs to {there}"


def turn(ledger: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """One turn at a time in a thread, over what waits there; each ends once, and is resumed in order."""
    half, event = ledger.halves.get(entry.thread), entry.event
    if isinstance(event, TurnBegan):
        if half:
            yield entry.seq, f"it begins while the turn {half.began} of its thread has not ended"
        if entry.cause not in event.inputs:
            yield entry.seq, f"it does not take {entry.cause}, which it was begun for"
        for seq in event.inputs:
            if not (ledger.event_class_of(seq).may_be_input and ledger.is_pending(seq)):
                yield entry.seq, f"it takes {seq}, which does not wait"
    elif isinstance(event, TurnResumed):
        if not half or half.began != entry.cause:
            yield entry.seq, f"it resumes {entry.cause}, which is no half turn of its thread"
        elif event.attempt != half.attempt + 1:
            yield entry.seq, f"it is attempt {event.attempt}, after attempt {half.attempt}"
    elif isinstance(event, TurnEnded) and (not half or half.began not in entry.closes):
        yield entry.seq, "it ends no turn: none is half in its thread, or it is another one"


def answered(ledger: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """A turn closes all that it took, and no other input."""
    half = ledger.halves.get(entry.thread)
    if half is None:
        return
    for seq in entry.closes:
        if issubclass(ledger.event_class_of(seq), Input) and seq not in ledger.seen[half.execution]:
            yield entry.seq, f"it closes {seq}, which its turn did not take"
    for seq in half.inputs:
        if seq not in entry.closes and ledger.is_pending(seq):
            yield seq, f"it was taken by a turn that ended with {entry.seq}, unanswered"


def receipt(ledger: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """A receipt is one of what it names as its cause, and closes it; at a turn's end none is missing."""
    event, told = entry.event, entry.event.receipt_of
    copied = isinstance(event, StepEvent) and event.taken_from  # from what was abandoned, where its intent is
    if told and not copied:
        if ledger.kind_of(entry.cause) != told:
            yield entry.seq, f"it is about {entry.cause}, which is no {told}"
        elif entry.kind in ledger.event_class_of(entry.cause).closed_by and entry.cause not in entry.closes:
            yield entry.seq, f"it does not close {entry.cause}, the {told} that it is about"
    if isinstance(event, TurnEnded):
        for seq, kind in ledger.pending[entry.thread].items():
            if kind in ledger.owing and seq not in entry.closes:
                yield seq, f"this {kind} has no receipt, and its turn ended with {entry.seq}"


def woke(ledger: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """The end of a wait comes of one, and once. It closes that, but where the execution that waits does."""
    event = entry.event
    waits = issubclass(ledger.event_class_of(entry.cause), WaitBegan)
    if isinstance(event, WaitEnded) and not waits:
        yield entry.seq, f"it ends {entry.cause}, which is no wait"
    if isinstance(event, WaitEnded) and entry.cause in ledger.woken:
        yield entry.seq, f"it ends {entry.cause} once more: that wait has come to its end before"
    if waits and type(event) is not WaitEnded and entry.cause not in entry.closes:
        yield entry.seq, f"it does not close {entry.cause}, the wait that it ends"


def step(ledger: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """What only a turn writes is written by the half turn of its thread, under the name of its execution."""
    half = ledger.halves.get(entry.thread)
    if half is None or not entry.key.startswith(half.paths):
        yield entry.seq, f"a {entry.kind} outside of the turn that its key names"


def blank(ledger: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """Of what is said to be forgotten no word is left. What it was cannot be told: no hash of it is kept."""
    if entry.forgotten and entry.event != entry.event.without_words():
        yield entry.seq, f"it is marked as forgotten with {entry.forgotten}, and still holds words"


RULES: tuple[JournalRule, ...] = (
    JournalRule("cause", cause, concerns_every_kind),
    JournalRule("closes", closes, concerns_every_kind),
    JournalRule("doubled", doubled, concerns_every_kind),
    JournalRule("refers", refers, _names_others),
    JournalRule("turn", turn, KindFilter((TurnBegan, TurnResumed, TurnEnded))),
    JournalRule("answered", answered, KindFilter((TurnEnded,))),
    JournalRule("receipt", receipt, _owes_a_receipt),
    JournalRule("woke", woke, KindFilter((Input,))),
    JournalRule("step", step, _is_within_turn),
    JournalRule("blank", blank, concerns_every_kind),
)


FileFindings = Iterator[tuple[int, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleViolation:
    """A rule that an entry breaks; seq 0 stands for the file."""

    seq: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.seq} {self.rule}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCount:
    """How many entries of a kind are pending: work to do, and no fault. `state` says what that means."""

    kind: str
    state: str
    count: int

    def __str__(self) -> str:
        return f"{self.count} {self.kind} {self.state}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """What a journal was found to be. `undigested`: entries of an older version that have no digest yet."""

    entries: int
    violations: Sequence[RuleViolation]
    pending: Sequence[PendingCount]
    undigested: int = 0

    def __str__(self) -> str:
        found = _counted(self.entries, "entry", "entries")
        if self.violations:
            found += f", {_counted(len(self.violations), 'violation', 'violations')}"
        else:
            found += ", clean"
        if self.undigested:
            found += f" ({self.undigested} without a digest: the daemon's next start adds it)"
        waits = ", ".join(map(str, self.pending))
        return f"{found}; pending: {waits or 'nothing'}"


def _counted(number: int, one: str, many: str) -> str:
    if number == 1:
        return f"1 {one}"
    return f"{number} {many}"


def verify(reading: JournalReader, rules: Iterable[JournalRule] = ()) -> VerifyResult:
    """Look at the whole journal, with these rules more. Raises JournalError where it cannot be read."""
    ledger, digests = ReplayState(reading.kinds), DigestCheck(reading.undigested_span())
    findings = sorted(_findings(reading, ledger, digests, [*RULES, *rules]), key=itemgetter(0))
    violations = [RuleViolation(seq=seq, rule=rule, text=text) for seq, rule, text in findings]
    return VerifyResult(
        entries=ledger.entry_count,
        violations=violations,
        pending=list(_pending(ledger)),
        undigested=digests.missing,
    )


class DigestCheck:
    """A check of each entry against its digest, and a count of those `between` two seqs that have none."""

    def __init__(self, between: tuple[int, int] | None) -> None:
        self._since, self._upto = between or (0, 0)
        self.missing = 0

    def check(self, row: Stored, digest: object) -> FileFindings:
        """Compare a row with the digest beside it (None: there is none)."""
        seq = row[0]
        if digest is None and self._since < seq <= self._upto:
            self.missing += 1
        elif digest is None:
            yield seq, "altered", "its digest is missing: it was removed, or the entry was put in by hand"
        elif digest != digest_of_row(row):
            yield seq, "altered", "it does not fit its digest: it is not what was written, or that is not"


def _findings(
    reading: JournalReader, ledger: ReplayState, digests: DigestCheck, rules: Sequence[JournalRule]
) -> FileFindings:
    yield from reading.database_problems()
    asked = dict[str, Sequence[JournalRule]]()
    for each in ledger.kinds:
        asked[each.kind] = [rule for rule in rules if rule.concerns(each)]
    for row, digest in reading.all_rows_with_digests():
        seq = row[0]
        missing = ledger.last + 1
        if missing < seq:  # entries are never deleted, and their seqs leave no gap
            gone = "this entry is gone"
            if missing < seq - 1:
                gone = f"gone up to {seq - 1}"
            yield missing, "gone", gone
        yield from digests.check(row, digest)
        yield from _look_at(row, ledger, asked)
    yield from _forgotten(ledger)
    yield from _folded(reading.folded_rows(), ledger)
    begun = ledger.seen_threads
    for seq, thread in ledger.children.items():
        if ledger.is_pending(seq) and thread in begun and not ledger.is_tree_busy(thread):
            yield seq, "forsaken", f"{thread} has not ended, and nothing goes on in it"


def _look_at(row: Stored, ledger: ReplayState, asked: Mapping[str, Sequence[JournalRule]]) -> FileFindings:
    seq, thread, kind, _, _, _, _, closes, _ = row
    try:
        entry = entry_from_row(row, ledger.kinds)
    except ValueError as error:
        yield seq, "shape", f"{error} is not there, or not what it should be"
        by = forgotten_mark(str(row[4]))
        if by:
            ledger.blank[seq] = by
        ledger.add_row(seq, str(thread), str(kind), parse_seqs(closes) or ())
        return
    for rule in asked[entry.kind]:
        for named, text in rule.check(ledger, entry):
            yield named, rule.name, text
    ledger.add_row(seq, thread, kind, entry.closes)
    ledger.fold_entry(entry)


def _forgotten(ledger: ReplayState) -> FileFindings:
    """What is blank was forgotten, and what was forgotten is blank."""
    named = {by: set(seqs) for by, seqs in ledger.forgotten.items()}
    for seq, by in ledger.blank.items():
        if seq not in named.get(by, ()):
            yield seq, "forgotten", "its words are gone, and no entry says that they were forgotten"
    for by, seqs in ledger.forgotten.items():
        if not ledger.is_pending(by):
            for seq in seqs:
                if seq not in ledger.blank:
                    yield seq, "forgotten", f"it was forgotten with {by}, and its words are still there"


def _pending(ledger: ReplayState) -> Iterator[PendingCount]:
    counts = Counter[str]()
    for waiting in ledger.pending.values():
        counts.update(waiting.values())
    for each in ledger.kinds:
        if counts[each.kind]:
            yield PendingCount(kind=each.kind, state=each.state, count=counts[each.kind])


def _folded(stored: Mapping[str, Sequence[tuple[Any, ...]]], ledger: ReplayState) -> FileFindings:
    """The folded tables are what the replay has come to."""
    replayed = dict[int, tuple[str, str]]()
    for thread, waiting in ledger.pending.items():
        for seq, kind in waiting.items():
            replayed[seq] = (thread, kind)
    pending = {seq: (thread, kind) for seq, thread, kind in stored["pending"]}
    for seq in replayed.keys() | pending.keys():
        here, there = pending.get(seq), replayed.get(seq)
        if here != there:
            yield seq, "pending", f"stored is {_shown(here)}, a replay gives {_shown(there)}"
    leases = dict(stored["lease"])
    for thread in ledger.leases.keys() | leases.keys():
        held, holds = leases.get(thread), ledger.leases.get(thread)
        if held != holds:
            yield holds or 0, "lease", f"stored for {thread} is {held}, a replay gives {holds}"


def _shown(pending: tuple[str, str] | None) -> str:
    if pending is None:
        return "nothing pending"
    thread, kind = pending
    return f"a pending {kind} of {thread}"
