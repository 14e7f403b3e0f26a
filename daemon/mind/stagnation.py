"""Notices when a run goes round in circles. Called by daemon/ism.py; pure."""

from __future__ import annotations

from typing import Literal


class Stagnation:
    """Is told of each round, as a text that is the same for the same choice, arguments and results."""

    def __init__(self) -> None:
        self._rounds: list[str] = []
        self._nudged = False

    def notice(self, this: str) -> Literal["", "nudge", "end"]:
        """What this round calls for: a nudge where it closes a circle, the end where a nudge was in vain."""
        self._rounds.append(this)
        if not self._circles():
            self._nudged = False
            return ""
        again, self._nudged = self._nudged, True
        return "end" if again else "nudge"

    def forget(self) -> None:
        """The world has moved on, or may have: doing the same again is not repetition."""
        self._rounds.clear()
        self._nudged = False

    def _circles(self) -> bool:
        """Do the last rounds, however many, repeat those before them?"""
        done = self._rounds
        return any(done[-n:] == done[-2 * n : -n] for n in range(1, len(done) // 2 + 1))
