"""Whether the models can be reached: what is wrong with the account, and when it is tried next.

Calls are noted here as they are made. What is known is in memory and may be lost: the waits are in the
journal, and every life begins with one probe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from daemon.claude.account import ACCOUNT, WHOLE, Fault, advice, settings_of
from daemon.engine.kinds import Outage
from daemon.engine.reading import Reading
from daemon.kinds import ModelCall
from daemon.ports import Clock, Role

EVERYWHERE = WHOLE | {"unreachable"}
"""Failures that are true of every model."""
PROBE = 60.0
"""Seconds from one probe to the next, while the account is at fault."""
LATER = 300.0
"""The same, when that has lasted for an hour."""
HOUR = 3_600.0
USABLE = frozenset({"ok", "cut", "refused"})
"""Outcomes of calls that a model has answered."""


class Reach:
    """What the newest calls tell. `models` are those that are configured, by role."""

    def __init__(self, journal: Reading, clock: Clock, models: Mapping[Role, str]) -> None:
        self._clock = clock
        self._models = dict(models)
        self._faults: dict[str, tuple[Fault, float]] = {}
        """What is wrong, by subject, and since when, as far as this life knows."""
        self._slots: dict[str, float] = {}
        """Until when probes are given out already, by subject: each of those that wait has its turn."""
        self._quiet: dict[tuple[str, str], float] = {}
        """Until when an owner need not be told of a subject."""
        for waiting in journal.pending(Outage):
            self._note(Fault(failure=waiting.event.reason, model=waiting.event.subject))

    def noted(self, call: ModelCall) -> None:
        """A call was made."""
        if call.outcome in USABLE:
            for subject, (fault, _) in list(self._faults.items()):
                if fault.mended_by(call.model):
                    del self._faults[subject]
                    self._slots.pop(subject, None)
        else:
            self._note(fault_of(call))

    def _note(self, fault: Fault) -> None:
        if fault.failure in ACCOUNT and not self._is_gone(fault):
            self._faults.setdefault(fault.subject, (fault, self._clock.steady()))

    def _is_gone(self, fault: Fault) -> bool:
        """Is it about a model that the settings do not name any more?"""
        return fault.subject != fault.failure and fault.model not in self._models.values()

    def next_probe(self, fault: Fault) -> float:
        """Seconds until whoever asks may find out whether it is still at fault: one after the other."""
        now = self._clock.steady()
        _, since = self._faults.get(fault.subject, (fault, now))
        pause = PROBE
        if now - since >= HOUR:
            pause = LATER
        slot = max(now, self._slots.get(fault.subject, now)) + pause
        self._slots[fault.subject] = slot
        return slot - now

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


def fault_of(call: ModelCall) -> Fault:
    """What a call failed at; without a word where it did not."""
    return Fault(failure=call.failure, model=call.model)
