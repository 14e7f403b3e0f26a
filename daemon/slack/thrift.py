"""Which names Slack is asked for because somebody wrote an id: a text may hold thousands. For people.py."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from daemon.ports import Clock

A_MESSAGE = 20
"""Names that one message is worth."""
A_MINUTE = 60
"""Names that are asked for in a minute, whoever writes: Slack takes about a hundred questions."""
MINUTE = 60.0
REFUSED = 600.0
"""Seconds for which a refusal is believed."""
KEPT = 10_000
"""Refusals that are remembered."""


class Thrift:
    """Bounds what is asked, by message and by minute, and asks nothing again that was refused lately."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: deque[float] = deque(maxlen=A_MINUTE)
        self._refused: dict[str, float] = {}

    def choose(self, ids: Iterable[str]) -> list[str]:
        """Those of these ids that may be asked for now, the first ones first; they count as asked."""
        chosen: list[str] = []
        for id in ids:
            if len(chosen) == A_MESSAGE or not self._has_room():
                break
            if not self._was_refused(id):
                chosen.append(id)
                self._asked.append(self._clock.steady())
        return chosen

    def refused(self, id: str) -> None:
        """Slack does not know this id, or does not tell us of it."""
        if len(self._refused) >= KEPT:
            del self._refused[next(iter(self._refused))]
        self._refused[id] = self._clock.steady()

    def _has_room(self) -> bool:
        return len(self._asked) < A_MINUTE or self._clock.steady() - self._asked[0] >= MINUTE

    def _was_refused(self, id: str) -> bool:
        at = self._refused.get(id)
        return at is not None and self._clock.steady() - at < REFUSED
