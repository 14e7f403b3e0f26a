"""What Slack refused in each form: said in the log, and for a while among what is wrong."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from daemon.ports import Clock

SHOWN = 3_600.0
"""Seconds for which it is shown."""

log = logging.getLogger(__name__)


class RefusedContent:
    """The last of it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at = 0.0
        self._last = ""

    @property
    def owner_advice(self) -> Sequence[str]:
        """What was refused lately, in a sentence."""
        if not self._last or self._clock.steady() - self._at > SHOWN:
            return ()
        return [self._last]

    def record_refusal(self, place: str, thread: str, word: str) -> None:
        """Slack refused something in this place, with this word."""
        self._at = self._clock.steady()
        said = f"what was to be said in {place} ({word})"
        self._last = f"Slack refused in every form {said}: it is missing there."
        log.error("Slack refused in every form what was to be said in %s: %s.", thread, word)
