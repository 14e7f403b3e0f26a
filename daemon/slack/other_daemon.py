"""Another daemon on the same Slack app, with another journal: each gets a part of the messages, both answer.

Two things tell of it. Slack counts the app's sockets whenever one of ours opens; those of a daemon that has
just ended may still be among them, so that a surplus is believed at a second look. And messages of the soul's
own name the journal that they stand in; one from before our start may be of a lost home.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from daemon.ports import Clock

SECOND_LOOK = 5.0
"""Seconds until a surplus of sockets is looked at again."""
LONGEST = 600.0
"""Seconds between two looks, at the most, while there is one."""
OVERLAP = 15.0
"""Seconds after our start in which a daemon that was replaced may still end what it says."""
MEND = (
    "It has a SOUL_HOME of its own: each of the two gets a part of the messages, and both may answer."
    " Stop one of them, or make an app of its own for it. Once it is stopped, this passes within ten minutes."
)

log = logging.getLogger(__name__)


class OtherDaemonDetector:
    """What is known of it, in this life. `since` is when we began, by Slack's clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looks = 0
        """How often a surplus was counted in a row."""
        self._surplus = ""
        self._journal = ""
        self._seen = 0.0
        """When a message of another journal was seen last, by the clock that only goes forward."""
        self.since: float | None = None

    @property
    def owner_advice(self) -> Sequence[str]:
        """What its owner has to know: a sentence, where there is another one."""
        if self._surplus:
            return [f"Another daemon uses this Slack app ({self._surplus}). {MEND}"]
        if self._journal and self._clock.steady() - self._seen < LONGEST:
            return [f"Another daemon uses this Slack app (it wrote in the journal {self._journal}). {MEND}"]
        return []

    def compare_socket_count(self, all: int, ours: int) -> float | None:
        """So many sockets of the app are open, and so many are ours, at the most.

        Returns after how many seconds they are to be counted again; None: not before the next one opens.
        """
        if all <= ours:
            if self._surplus:
                log.warning("No other daemon uses this Slack app any more.")
            self._looks, self._surplus = 0, ""
            return None
        self._looks += 1
        if self._looks == 1:
            return SECOND_LOOK
        known = self.owner_advice
        self._surplus = f"Slack counts {all} sockets, and {ours} are ours"
        self._warn(known)
        return float(min(SECOND_LOOK * 2 ** (self._looks + 1), LONGEST))

    def note_foreign_message(self, journal: str, ts: float) -> None:
        """A message of the soul's own names this journal, which is not ours; it was said then."""
        if self.since is None or ts < self.since + OVERLAP:
            return
        known = self.owner_advice
        self._journal, self._seen = journal, self._clock.steady()
        self._warn(known)

    def _warn(self, known: Sequence[str]) -> None:
        if not known:
            log.error("%s", self.owner_advice[0])
