"""What a wrong token costs: time, and more with each one, for the address that it came from alone.

Whoever shows the right token never meets it, wherever they are: many may share an address behind a proxy.
"""

from __future__ import annotations

from dataclasses import dataclass

from daemon.ports import Clock

FREE_FAILURES = 3
"""Wrong tokens that cost nothing: anybody mistypes."""
LONGEST_DELAY = 30.0
"""Seconds that an answer is held back at the most."""
FORGOTTEN = 600.0
"""Seconds without a wrong token after which an address begins anew."""
WAITING = 4
"""Answers that are held back for one address at once."""
WAITING_IN_ALL = 64
KNOWN = 1_000
"""Addresses that are remembered; the one that was quiet for the longest is forgotten first."""


@dataclass(slots=True)
class TokenFailures:
    """The wrong tokens of one address: how many, when the last one came, how many answers wait."""

    wrong: int = 0
    at: float = 0.0
    waiting: int = 0


class LoginRateLimit:
    """Holds back the answers to wrong tokens."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, TokenFailures] = {}
        self._waiting = 0

    async def delay_wrong_token(self, address: str) -> float:
        """A wrong token came from there. Returns 0 when it has cost its time.

        Where too many wait already it returns at once, with the seconds after which to try again.
        """
        guesses = self._failures_of(address)
        guesses.wrong += 1
        guesses.at = self._clock.steady()
        seconds = delay_seconds(guesses.wrong)
        if not seconds:
            return 0.0
        if guesses.waiting >= WAITING or self._waiting >= WAITING_IN_ALL:
            return seconds
        guesses.waiting += 1
        self._waiting += 1
        try:
            await self._clock.sleep(seconds)
        finally:
            guesses.waiting -= 1
            self._waiting -= 1
        return 0.0

    def _failures_of(self, address: str) -> TokenFailures:
        """The guesses of this address, which is now the last one in the table."""
        guesses = self._known.pop(address, None) or TokenFailures()
        if self._clock.steady() - guesses.at >= FORGOTTEN:
            guesses.wrong = 0
        if len(self._known) >= KNOWN:
            del self._known[next(iter(self._known))]
        self._known[address] = guesses
        return guesses


def delay_seconds(wrong: int) -> float:
    """The seconds that this wrong token costs, the first being 1."""
    if wrong <= FREE_FAILURES:
        return 0.0
    return min(2.0 ** min(wrong - FREE_FAILURES - 1, 10), LONGEST_DELAY)
