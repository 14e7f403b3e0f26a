"""Verification of a journal by rules for each entry. Projections are compared with rebuilt ones.

A rule sees the state before its entry, and yields (seq, sentence) for each violation.
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
NO_ENTRY = ("", "")


@dataclass(slots=True, kw_only=True)
class OpenTurn:
    began: int
    execution: str
    inputs: Sequence[int]
    paths: tuple[str, ...]
    attempt: int = 1


class ReplayState:
    """State rebuilt from the entries so far: threads, pending entries, leases."""

    def __init__(self, kinds: EventCodec) -> None:
        self.kinds = kinds
        self.pending: defaultdict[str, dict[int, str]] = defaultdict(dict)
        """Kinds of pending entries, by thread and seq."""
        self.leases: dict[str, int] = {}
        self.open_turns: dict[str, OpenTurn] = {}
        self.seen: defaultdict[str, set[int]] = defaultdict(set)
        """Inputs that an execution took or received, by execution."""
        self.woken = set[int | None]()
        self.children: dict[int, str] = {}
        """Child threads, by the seq of the entry that spawned them."""
        self.blank: dict[int, int] = {}
        """Seq of the forgetting entry, by the seq of each blank entry."""
        self.forgotten: dict[int, Sequence[int]] = {}
        """Seqs that an entry forgets, by its own seq."""
        self.brought: defaultdict[str, set[int]] = defaultdict(set)
        """Entries of other trees that a tree of threads may name, by root thread."""
        self.last = 0
        self._there: dict[int, tuple[str, str]] = {}
        self._leasing = frozenset(kinds.kind_names(LEASES))
        self.needing_receipt = frozenset(each.receipt_of for each in kinds)
        """Kinds that must be closed by a receipt."""

    @property
    def entry_count(self) -> int:
        return len(self._there)

    def kind_of(self, seq: int | None) -> str:
        return self._there.get(seq or 0, NO_ENTRY)[0]

    def event_class_of(self, seq: int | None) -> type[Event]:
        return self.kinds.class_of_kind(self.kind_of(seq)) or Event

    def thread_of(self, seq: int) -> str:
        return self._there.get(seq, NO_ENTRY)[1]

    @property
    def seen_threads(self) -> set[str]:
        return {thread for _, thread in self._there.values()}

    def is_pending(self, seq: int) -> bool:
        return seq in self.pending[self.thread_of(seq)]

    def add_row(self, seq: int, thread: str, kind: str, closes: Sequence[int]) -> None:
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
            self.open_turns.pop(thread, None)

    def fold_entry(self, entry: Entry[Any]) -> None:
        event, open_turn = entry.event, self.open_turns.get(entry.thread)
        if entry.forgotten:
            self.blank[entry.seq] = entry.forgotten
        if event.brings:
            for _, seq in self.kinds.referenced_seqs(event):
                self.brought[root_of(entry.thread)].add(seq)
        if isinstance(event, EntriesForgotten):
            self.forgotten[entry.seq] = event.seqs
        elif isinstance(event, TurnBegan):
            self.open_turns[entry.thread] = OpenTurn(
                began=entry.seq,
                execution=event.execution,
                inputs=event.inputs,
                paths=(*_beginnings(event.execution), *_beginnings(turn_id(entry))),
            )
            self.seen[event.execution].update(event.inputs)
        elif isinstance(event, InputsReceived) and open_turn:
            self.seen[open_turn.execution].update(event.inputs)
        elif isinstance(event, TurnResumed) and open_turn:
            open_turn.attempt += 1
        elif isinstance(event, WaitEnded):
            self.woken.add(entry.cause)
        elif isinstance(event, ThreadSpawned):
            self.children[entry.seq] = event.thread

    def is_tree_busy(self, thread: str) -> bool:
        for name, waiting in self.pending.items():
            if waiting and (name == thread or name.startswith(f"{thread}.")):
                return True
        return False


def _beginnings(name: str) -> tuple[str, ...]:
    return f"{name}/", f"{name}~", f"{name}{PART}"


@dataclass(frozen=True, slots=True)
class JournalRule:
    """Rule for entries whose event class `concerns` accepts."""

    name: str
    check: Callable[[ReplayState, Entry[Any]], RuleFindings]
    concerns: Callable[[type[Event]], bool]


def concerns_every_kind(_: type[Event]) -> bool:
    return True


def _names_others(event: Any) -> bool:
    return bool(seq_fields(event))


def _owes_a_receipt(event: type[Event]) -> bool:
    return bool(event.receipt_of) or issubclass(event, TurnEnded)


def _is_within_turn(event: type[Event]) -> bool:
    return event.within_turn


@dataclass(frozen=True, slots=True)
class KindFilter:
    classes: tuple[type[Event], ...]

    def __call__(self, event: type[Event]) -> bool:
        return issubclass(event, self.classes)


def check_cause(state: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """Check that the cause of an entry exists."""
    if entry.cause is not None and not state.kind_of(entry.cause):
        yield entry.seq, f"its cause, {entry.cause}, is not there"


def check_closes(state: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """Check that closed entries exist, and that an entry of this kind may close them."""
    for seq in entry.closes:
        kind = state.kind_of(seq)
        if not kind:
            yield entry.seq, f"it closes {seq}, which is not there"
        elif not may_close(entry, state.event_class_of(seq)):
            yield entry.seq, f"it closes {seq}, but no {entry.kind} closes a {kind}"


def may_close(entry: Entry[Any], closed: type[Event]) -> bool:
    """True if the entry may close an entry of the class `closed`. Any input may close a wait."""
    if issubclass(closed, WaitBegan) and isinstance(entry.event, Input):
        return True
    return entry.kind in closed.closed_by


def check_doubled(state: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """Check that no entry is closed twice."""
    for n, seq in enumerate(entry.closes):
        again = seq in entry.closes[:n] or not state.is_pending(seq)
        if state.event_class_of(seq).pending and again:
            yield entry.seq, f"it closes {seq} once more: that {state.kind_of(seq)} was closed before"


def check_refers(state: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """Check that entries named by an entry's fields are in its tree of threads, or were brought into it."""
    root = root_of(entry.thread)
    for field, seq in state.kinds.referenced_seqs(entry.event):
        there = state.thread_of(seq)
        if there == entry.thread:
            continue
        if not there:
            yield entry.seq, f"its {field} names {seq}, which is not there"
        elif entry.event.brings or seq in state.brought[root]:
            continue
        elif root_of(there) != root and not issubclass(state.event_class_of(seq), EntriesForgotten):
            yield entry.seq, f"its {field} names {seq}, which belongs to {there}"


def check_turn(state: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """Check that a thread has one turn at a time, and that its inputs were pending."""
    open_turn, event = state.open_turns.get(entry.thread), entry.event
    if isinstance(event, TurnBegan):
        if open_turn:
            yield entry.seq, f"it begins while the turn {open_turn.began} of its thread has not ended"
        if entry.cause not in event.inputs:
            yield entry.seq, f"it does not take {entry.cause}, which it was begun for"
        for seq in event.inputs:
            if not (state.event_class_of(seq).may_be_input and state.is_pending(seq)):
                yield entry.seq, f"it takes {seq}, which does not wait"
    elif isinstance(event, TurnResumed):
        if not open_turn or open_turn.began != entry.cause:
            yield entry.seq, f"it resumes {entry.cause}, which is no half turn of its thread"
        elif event.attempt != open_turn.attempt + 1:
            yield entry.seq, f"it is attempt {event.attempt}, after attempt {open_turn.attempt}"
    elif isinstance(event, TurnEnded) and (not open_turn or open_turn.began not in entry.closes):
        yield entry.seq, "it ends no turn: none is half in its thread, or it is another one"


def check_answered(state: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """Check that the end of a turn closes the inputs it took, and no others."""
    open_turn = state.open_turns.get(entry.thread)
    if open_turn is None:
        return
    for seq in entry.closes:
        if issubclass(state.event_class_of(seq), Input) and seq not in state.seen[open_turn.execution]:
            yield entry.seq, f"it closes {seq}, which its turn did not take"
    for seq in open_turn.inputs:
        if seq not in entry.closes and state.is_pending(seq):
            yield seq, f"it was taken by a turn that ended with {entry.seq}, unanswered"


def check_receipt(state: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """Check that receipts close their cause, and that no receipt is missing at the end of a turn."""
    event, owed = entry.event, entry.event.receipt_of
    copied = isinstance(event, StepEvent) and event.taken_from  # its intent is in the abandoned execution
    if owed and not copied:
        if state.kind_of(entry.cause) != owed:
            yield entry.seq, f"it is about {entry.cause}, which is no {owed}"
        elif entry.kind in state.event_class_of(entry.cause).closed_by and entry.cause not in entry.closes:
            yield entry.seq, f"it does not close {entry.cause}, the {owed} that it is about"
    if isinstance(event, TurnEnded):
        for seq, kind in state.pending[entry.thread].items():
            if kind in state.needing_receipt and seq not in entry.closes:
                yield seq, f"this {kind} has no receipt, and its turn ended with {entry.seq}"


def check_woke(state: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """Check that a wait ends once, and that the right entry closes it."""
    event = entry.event
    waits = issubclass(state.event_class_of(entry.cause), WaitBegan)
    if isinstance(event, WaitEnded) and not waits:
        yield entry.seq, f"it ends {entry.cause}, which is no wait"
    if isinstance(event, WaitEnded) and entry.cause in state.woken:
        yield entry.seq, f"it ends {entry.cause} once more: that wait has come to its end before"
    if waits and type(event) is not WaitEnded and entry.cause not in entry.closes:
        yield entry.seq, f"it does not close {entry.cause}, the wait that it ends"


def check_step(state: ReplayState, entry: Entry[Any]) -> RuleFindings:
    """Check that a step is written during the turn that its key names."""
    open_turn = state.open_turns.get(entry.thread)
    if open_turn is None or not entry.key.startswith(open_turn.paths):
        yield entry.seq, f"a {entry.kind} outside of the turn that its key names"


def check_blank(state: ReplayState, entry: Entry[Any]) -> RuleFindings:
    if entry.forgotten and entry.event != entry.event.without_words():
        yield entry.seq, f"it is marked as forgotten with {entry.forgotten}, and still holds words"


RULES: tuple[JournalRule, ...] = (
    JournalRule("cause", check_cause, concerns_every_kind),
    JournalRule("closes", check_closes, concerns_every_kind),
    JournalRule("doubled", check_doubled, concerns_every_kind),
    JournalRule("refers", check_refers, _names_others),
    JournalRule("turn", check_turn, KindFilter((TurnBegan, TurnResumed, TurnEnded))),
    JournalRule("answered", check_answered, KindFilter((TurnEnded,))),
    JournalRule("receipt", check_receipt, _owes_a_receipt),
    JournalRule("woke", check_woke, KindFilter((Input,))),
    JournalRule("step", check_step, _is_within_turn),
    JournalRule("blank", check_blank, concerns_every_kind),
)

FileFindings = Iterator[tuple[int, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleViolation:
    """Violation of a rule by an entry (seq 0: by the file)."""

    seq: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.seq} {self.rule}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCount:
    kind: str
    state: str
    count: int

    def __str__(self) -> str:
        return f"{self.count} {self.kind} {self.state}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """Result of a verification. `undigested` entries have no digest yet."""

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
    """Check a journal, also by these `rules`. Raises JournalError."""
    state, digests = ReplayState(reading.kinds), DigestCheck(reading.undigested_span())
    findings = sorted(_findings(reading, state, digests, [*RULES, *rules]), key=itemgetter(0))
    violations = [RuleViolation(seq=seq, rule=rule, text=text) for seq, rule, text in findings]
    return VerifyResult(
        entries=state.entry_count,
        violations=violations,
        pending=list(_pending(state)),
        undigested=digests.missing,
    )


class DigestCheck:
    """Check of digests. Only entries `between` two seqs may lack one; they are counted."""

    def __init__(self, between: tuple[int, int] | None) -> None:
        self._since, self._upto = between or (0, 0)
        self.missing = 0

    def check(self, row: Stored, digest: object) -> FileFindings:
        """Yield a finding if a row does not fit its digest (None: missing)."""
        seq = row[0]
        if digest is None and self._since < seq <= self._upto:
            self.missing += 1
        elif digest is None:
            yield seq, "altered", "its digest is missing: it was removed, or the entry was put in by hand"
        elif digest != digest_of_row(row):
            yield seq, "altered", "it does not fit its digest: it is not what was written, or that is not"


def _findings(
    reading: JournalReader, state: ReplayState, digests: DigestCheck, rules: Sequence[JournalRule]
) -> FileFindings:
    yield from reading.database_problems()
    asked = dict[str, Sequence[JournalRule]]()
    for each in state.kinds:
        asked[each.kind] = [rule for rule in rules if rule.concerns(each)]
    for row, digest in reading.all_rows_with_digests():
        seq = row[0]
        missing = state.last + 1
        if missing < seq:  # a seq is never left out
            gone = "this entry is gone"
            if missing < seq - 1:
                gone = f"gone up to {seq - 1}"
            yield missing, "gone", gone
        yield from digests.check(row, digest)
        yield from _look_at(row, state, asked)
    yield from _forgotten(state)
    yield from _folded(reading.folded_rows(), state)
    begun = state.seen_threads
    for seq, thread in state.children.items():
        if state.is_pending(seq) and thread in begun and not state.is_tree_busy(thread):
            yield seq, "forsaken", f"{thread} has not ended, and nothing goes on in it"


def _look_at(row: Stored, state: ReplayState, asked: Mapping[str, Sequence[JournalRule]]) -> FileFindings:
    seq, thread, kind, _, _, _, _, closes, _ = row
    try:
        entry = entry_from_row(row, state.kinds)
    except ValueError as error:
        yield seq, "shape", f"{error} is not there, or not what it should be"
        by = forgotten_mark(str(row[4]))
        if by:
            state.blank[seq] = by
        state.add_row(seq, str(thread), str(kind), parse_seqs(closes) or ())
        return
    for rule in asked[entry.kind]:
        for named, text in rule.check(state, entry):
            yield named, rule.name, text
    state.add_row(seq, thread, kind, entry.closes)
    state.fold_entry(entry)


def _forgotten(state: ReplayState) -> FileFindings:
    """Check that all forgotten entries are blank, and no others."""
    named = {by: set(seqs) for by, seqs in state.forgotten.items()}
    for seq, by in state.blank.items():
        if seq not in named.get(by, ()):
            yield seq, "forgotten", "its words are gone, and no entry says that they were forgotten"
    for by, seqs in state.forgotten.items():
        if not state.is_pending(by):
            for seq in seqs:
                if seq not in state.blank:
                    yield seq, "forgotten", f"it was forgotten with {by}, and its words are still there"


def _pending(state: ReplayState) -> Iterator[PendingCount]:
    counts = Counter[str]()
    for waiting in state.pending.values():
        counts.update(waiting.values())
    for each in state.kinds:
        if counts[each.kind]:
            yield PendingCount(kind=each.kind, state=each.state, count=counts[each.kind])


def _folded(stored: Mapping[str, Sequence[tuple[Any, ...]]], state: ReplayState) -> FileFindings:
    replayed = dict[int, tuple[str, str]]()
    for thread, waiting in state.pending.items():
        for seq, kind in waiting.items():
            replayed[seq] = (thread, kind)
    pending = {seq: (thread, kind) for seq, thread, kind in stored["pending"]}
    for seq in replayed.keys() | pending.keys():
        here, there = pending.get(seq), replayed.get(seq)
        if here != there:
            yield seq, "pending", f"stored is {_shown(here)}, a replay gives {_shown(there)}"
    leases = dict(stored["lease"])
    for thread in state.leases.keys() | leases.keys():
        held, holds = leases.get(thread), state.leases.get(thread)
        if held != holds:
            yield holds or 0, "lease", f"stored for {thread} is {held}, a replay gives {holds}"


def _shown(pending: tuple[str, str] | None) -> str:
    if pending is None:
        return "nothing pending"
    thread, kind = pending
    return f"a pending {kind} of {thread}"
