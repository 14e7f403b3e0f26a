"""Whether the models can be reached: what is wrong with the account, and who of those that wait tries now.

Turns note each call here. What is known is in memory and may be lost: every life begins with one probe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from daemon.claude.account import ACCOUNT, Fault, advice, settings_of
from daemon.entry import Entry
from daemon.journal.journal import Journal
from daemon.life.due import is_due
from daemon.ports import Clock, Role

EVERYWHERE = frozenset({"unreachable"})
"""Failures that are true of every model, besides those of the whole account."""
PASSING = frozenset({"unreachable", "overloaded", "rate-limited", "server-error"})
"""Failures of which an answer to somebody else tells that they may be over."""
PROBE = 60.0
"""Seconds from one probe to the next, while the account is at fault."""
LATER = 300.0
"""The same, when that has lasted for an hour."""
HOUR = 3_600.0
FEW = 5
"""Threads that wake in one second because the model answers again: not all of them at once."""
USABLE = frozenset({"ok", "cut", "refused"})
"""Outcomes of calls that a model has answered."""


class Reach:
    """What the newest calls tell. `models` are those that are configured, by role."""

    def __init__(self, journal: Journal, clock: Clock, models: Mapping[Role, str]) -> None:
        self._journal = journal
        self._clock = clock
        self._models = dict(models)
        self._faults: dict[str, tuple[Fault, float]] = {}
        """What is wrong, by subject, and since when, as far as this life knows."""
        self._well: dict[str, int] = {}
        """The seq of the newest call that each model has answered."""
        self._probes: dict[str, float] = {}
        """When there may be another probe, by subject."""
        self._probed: dict[str, float] = {}
        """When each thread last made one."""
        self._probing: set[int] = set()
        """The waits that may try now, though nothing is known to be mended."""
        self._quiet: dict[tuple[str, str], float] = {}
        """Until when an owner need not be told of a subject."""
        self._recover()

    def _recover(self) -> None:
        """At the start: somebody waits for the account to be mended, or was waiting when it was."""
        waits = [watch for watch in self._journal.open("watch") if watch.body.get("failure")]
        if not waits:
            return
        for call in self._journal.kind("model-call", since=min(watch.at for watch in waits)):
            self._answered(call)
        for watch in waits:
            fault = fault_of(watch.body)
            if fault.failure in ACCOUNT and not (self._gone(fault) or self._mended(watch)):
                self._faults.setdefault(fault.subject, (fault, self._clock.steady()))

    def noted(self, call: Entry) -> None:
        """A call was recorded."""
        self._answered(call)
        fault = fault_of(call.body)
        if fault.failure in ACCOUNT:
            now = self._clock.steady()
            _, since = self._faults.setdefault(fault.subject, (fault, now))
            self._probes[fault.subject] = now + (PROBE if now - since < HOUR else LATER)

    def _answered(self, call: Entry) -> None:
        if call.body["outcome"] not in USABLE:
            return
        model = str(call.body["model"])
        self._well[model] = call.seq
        self._faults = {
            subject: (fault, since)
            for subject, (fault, since) in self._faults.items()
            if not fault.mended_by(model)
        }

    @property
    def wrong(self) -> Sequence[str]:
        """What is wrong with the account, and what its owner can do: a sentence or two for each fault."""
        return [self.advice(fault) for fault, _ in self._faults.values()]

    def advice(self, fault: Fault) -> str:
        """What to do about it, with the settings' names."""
        return advice(fault, settings_of(fault.model, self._models))

    def may_tell(self, owner: str, fault: Fault) -> bool:
        """Was this owner told of it long enough ago, or not yet, as far as this life knows?"""
        return self._clock.steady() >= self._quiet.get((owner, fault.subject), 0.0)

    def told(self, owner: str, fault: Fault, until: float) -> None:
        """This owner need not be asked for until then."""
        self._quiet[owner, fault.subject] = until

    def due(self, watches: Iterable[Entry]) -> Sequence[Entry]:
        """Those whose time has come; a few of those whose model answers again; and where the account is at
        fault one, now and then, which finds out whether it still is."""
        watches = list(watches)
        self._probing &= {watch.seq for watch in watches}
        timed, freed, now = list[Entry](), list[Entry](), self._clock.now()
        blocked: dict[str, list[Entry]] = {}
        for watch in watches:
            if is_due(self._journal, watch, now):
                timed.append(watch)
            elif self._free(watch):
                freed.append(watch)
            elif (fault := fault_of(watch.body)).failure in ACCOUNT:
                blocked.setdefault(fault.subject, []).append(watch)
        probes = [probe for subject, waits in blocked.items() if (probe := self._probe(subject, waits))]
        return [*timed, *freed[:FEW], *probes]

    def ripe(self, watch: Entry) -> bool:
        """May what waits so try again before its time?"""
        return watch.seq in self._probing or self._free(watch)

    def _probe(self, subject: str, waits: Sequence[Entry]) -> Entry | None:
        """The wait that probes now, if it is time: each thread in its turn."""
        now = self._clock.steady()
        if now < self._probes.get(subject, 0.0):
            return None
        chosen = min(waits, key=lambda watch: (self._probed.get(watch.thread, 0.0), watch.seq))
        self._probes[subject] = now + PROBE
        self._probed[chosen.thread] = now
        self._probing.add(chosen.seq)
        return chosen

    def _free(self, watch: Entry) -> bool:
        """Is it over, as far as is known? An early try that fails is followed by a whole wait."""
        fault = fault_of(watch.body)
        if fault.failure in ACCOUNT:
            return self._gone(fault) or self._mended(watch)
        return fault.failure in PASSING and bool(watch.body.get("early")) and self._mended(watch)

    def _mended(self, watch: Entry) -> bool:
        """Has a model answered since, so that this wait may be over?"""
        fault = fault_of(watch.body)
        return any(
            seq > watch.seq and (fault.failure in EVERYWHERE or fault.mended_by(model))
            for model, seq in self._well.items()
        )

    def _gone(self, fault: Fault) -> bool:
        """Is it about a model that the settings do not name any more?"""
        return fault.subject != fault.failure and fault.model not in self._models.values()


def fault_of(body: Mapping[str, Any]) -> Fault:
    """What a call, or a wait, failed at; without a word where it did not."""
    return Fault(failure=str(body.get("failure") or ""), model=str(body.get("model") or ""))
