"""The prompt cache: how much of a prompt was seen before, as Anthropic counts and bills it.

A prompt is known as far as a breakpoint of an earlier one stood, if every byte before it is the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import accumulate

from daemon.ports import Clock
from daemon.rehearsal.claude.prompt import Body, Piece, pieces

LIFETIME = 300.0
LOOKBACK = 20
SMALLEST = 512


class Cache:
    """The beginnings of prompts that were written, each for five minutes from its last use."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def count(self, body: Body) -> dict[str, int]:
        """The usage numbers of this prompt; from now on its beginnings are known."""
        row = pieces(body)
        chain = _chain(str(body.get("model")), row)
        sums = [0, *accumulate(piece.tokens for piece in row)]
        marks = [i for i, piece in enumerate(row, 1) if piece.marked and sums[i] >= SMALLEST]
        known = max((self._known(chain, mark) for mark in marks), default=0)
        written = marks[-1] if marks else 0
        self._write([chain[i] for i in {known, *marks} if i])
        return {
            "input_tokens": sums[-1] - sums[written],
            "cache_creation_input_tokens": sums[written] - sums[known],
            "cache_read_input_tokens": sums[known],
        }

    def _known(self, chain: Sequence[str], mark: int) -> int:
        """How many pieces up to this breakpoint were seen before; it looks back over 20 at most."""
        now = self._clock.now()
        seen = (i for i in range(mark, max(mark - LOOKBACK, 0), -1) if self._until.get(chain[i], 0) > now)
        return next(seen, 0)

    def _write(self, beginnings: Sequence[str]) -> None:
        now = self._clock.now()
        self._until = {key: until for key, until in self._until.items() if until > now}
        self._until.update(dict.fromkeys(beginnings, now + LIFETIME))


def _chain(model: str, row: Sequence[Piece]) -> list[str]:
    """A hash for each beginning of the prompt; the first is the empty one."""
    return list(accumulate((piece.text for piece in row), _link, initial=_link("", model)))


def _link(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()
