"""Is the journal whole? A replay of all entries that keeps every rule, compared with what is stored.

Called by `python -m daemon verify`, the doctor and tests. It changes nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import RowMapping

from daemon.entry import Entry
from daemon.journal.ledger import Ledger
from daemon.journal.reading import Reading
from daemon.journal.rules import RULES
from daemon.journal.shape import misfits, strays

Findings = Iterator[tuple[int, str, str]]

PENDING = {
    "perception": "to be answered",
    "turn-began": "half",
    "speech": "begun by a half turn",
    "action": "begun by a half turn",
    "watch": "waiting for its time",
    "asked": "waiting for an answer",
}
"""What a debt that is open at the end means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that an entry breaks; seq 0 stands for the file."""

    seq: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.seq} {self.rule}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a journal was found to be. `pending` counts open debts by kind: work to do, and no fault."""

    entries: int
    violations: Sequence[Violation]
    pending: Mapping[str, int]

    def __str__(self) -> str:
        waits = ", ".join(f"{n} {kind} {PENDING[kind]}" for kind, n in self.pending.items())
        faults = f"{len(self.violations)} violations" if self.violations else "clean"
        return f"{self.entries} entries, {faults}; pending: {waits or 'nothing'}"


def verify(reading: Reading) -> Verdict:
    """Look at the whole journal. Raises JournalError when it cannot be read."""
    ledger = Ledger()
    found = [Violation(seq=seq, rule=rule, text=text) for seq, rule, text in _findings(reading, ledger)]
    pending = Counter(kind for debts in ledger.owed.values() for kind in debts.values())
    return Verdict(
        entries=ledger.count,
        violations=sorted(found, key=lambda one: one.seq),
        pending={kind: pending[kind] for kind in PENDING if pending[kind]},
    )


def _findings(reading: Reading, ledger: Ledger) -> Findings:
    yield from reading.problems()
    for row in reading.rows():
        yield from _gap(ledger, row["seq"])
        entry, faults = _read(row)
        yield from ((entry.seq, "shape", text) for text in faults)
        if not faults:
            for rule in RULES:
                yield from ((seq, rule.__name__, text) for seq, text in rule(ledger, entry))
        ledger.fold(entry)
    yield from _projections(reading.projections(), ledger)


def _gap(ledger: Ledger, seq: int) -> Findings:
    """Entries are never deleted, and their seqs leave no gap."""
    if (missing := ledger.last + 1) < seq:
        yield missing, "gone", "this entry is gone" if missing == seq - 1 else f"gone up to {seq - 1}"


def _read(row: RowMapping) -> tuple[Entry, list[str]]:
    """An entry as far as it can be relied on, and what is wrong with it."""
    given = Entry(**{**row, "body": _json(row["body"]), "closes": _json(row["closes"])})
    astray, amiss = [*strays(given)], [*misfits(given.kind, given.body)]
    entry = replace(
        given,
        thread=str(given.thread),
        kind=str(given.kind),
        key=str(given.key),
        body={} if amiss else given.body,
        cause=None if "cause" in astray else given.cause,
        closes=() if "closes" in astray else tuple(given.closes),
    )
    faults = dict.fromkeys([*astray, *amiss])
    return entry, [f"its {name} is not there, or not what it should be" for name in faults]


def _json(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def _projections(stored: Mapping[str, Sequence[tuple[Any, ...]]], ledger: Ledger) -> Findings:
    """The folded tables are what the replay has come to."""
    owed = {seq: (thread, kind) for thread, debts in ledger.owed.items() for seq, kind in debts.items()}
    debts = {seq: (thread, kind) for seq, thread, kind in stored["debt"]}
    for seq in owed.keys() | debts.keys():
        if owed.get(seq) != debts.get(seq):
            yield seq, "debt", f"stored is {_shown(debts.get(seq))}, a replay gives {_shown(owed.get(seq))}"
    leases = dict(stored["lease"])
    for thread in ledger.lease.keys() | leases.keys():
        held, replayed = leases.get(thread), ledger.lease.get(thread)
        if held != replayed:
            yield replayed or 0, "lease", f"stored for {thread} is {held}, a replay gives {replayed}"


def _shown(debt: tuple[str, str] | None) -> str:
    return f"an open {debt[1]} of {debt[0]}" if debt else "nothing open"
