"""Events that are held back on their way: late, or until another has passed them. Used by courier.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from daemon.ports import Clock
from daemon.rehearsal.faults import Value
from daemon.rehearsal.switchboard import Switchboard


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """An event about a message, which waits until then at the most; or until `passer` was sent."""

    fault: str
    app: str
    about: str
    until: float
    passer: int | None = None


class Holds:
    """What is held, by the id of its delivery. Nothing is held any more by a fault that was switched off."""

    def __init__(self, faults: Switchboard, clock: Clock) -> None:
        self._faults = faults
        self._clock = clock
        self._held: dict[int, Hold] = {}

    def take(self, id: int, app: str, about: str) -> None:
        """A new event: hold it, if a fault strikes it.

        What waits to be passed is passed by the first one about another message; all about one wait together.
        """
        if told := self._faults.strikes("delay"):
            self._hold(id, "delay", app, about, told)
        elif waiting := self._waiting(app):
            if about and self._held[waiting[0]].about == about:
                self._held[id] = self._held[waiting[0]]
            else:
                self._held |= {other: replace(self._held[other], passer=id) for other in waiting}
        elif told := self._faults.strikes("reorder"):
            self._hold(id, "reorder", app, about, told)

    def due(self, id: int) -> float:
        """When this event may go out."""
        hold = self._held.get(id)
        return self._clock.now() if hold is None or self._faults.on(hold.fault) is None else hold.until

    def sent(self, id: int) -> None:
        """An event went out: what it passed waits no more."""
        self._held = {other: hold for other, hold in self._held.items() if id not in (other, hold.passer)}

    def _hold(self, id: int, fault: str, app: str, about: str, told: Mapping[str, Value]) -> None:
        until = self._clock.now() + float(told["seconds"])
        self._held[id] = Hold(fault=fault, app=app, about=about, until=until)

    def _waiting(self, app: str) -> list[int]:
        """What waits to be passed, and nothing is known that will."""
        return [
            id
            for id, hold in self._held.items()
            if hold.fault == "reorder" and hold.app == app and hold.passer is None
        ]
