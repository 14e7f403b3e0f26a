"""How fast a method of Slack's may be called: so many calls at once, then one every so often, in order."""

from __future__ import annotations

from daemon.ports import Clock

LONGEST = 60.0
"""Seconds that nobody waits longer, whatever the clock did meanwhile: Slack counts by the minute."""


class Pace:
    """`burst` calls at once, and after them one every `each` seconds. Who asks first is first."""

    def __init__(self, clock: Clock, *, burst: int, each: float) -> None:
        self._clock = clock
        self._ahead = (burst - 1) * each
        self._each = each
        self._due = 0.0
        """When the next call would be due if there were no burst."""
        self._rests = 0.0

    @property
    def resting(self) -> bool:
        """Has Slack had enough for now?"""
        return 0.0 < self._rests - self._clock.steady() <= LONGEST

    def slot(self) -> float:
        """Take the next free slot; in how many seconds it comes."""
        now = self._clock.steady()
        self._due = min(max(self._due, now), now + self._ahead + LONGEST)
        wait = max(self._due - self._ahead - now, 0.0)
        self._due += self._each
        return wait

    def rest(self, seconds: float) -> None:
        """Slack wants no call for so long."""
        self._rests = self._clock.steady() + min(seconds, LONGEST)
        self._due = max(self._due, self._rests + self._ahead)
