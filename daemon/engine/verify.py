"""Is the journal whole? A replay of all entries that keeps every rule, compared with what is stored.

It changes nothing. A program hands in rules of its own for what the engine cannot know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from daemon.engine.blanking import forgotten_mark
from daemon.engine.digests import digest_of_row
from daemon.engine.journal_rules import RULES, JournalRule, ReplayState
from daemon.engine.reading import JournalReader
from daemon.engine.rows import entry_from_row, parse_seqs
from daemon.engine.tables import Stored

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
