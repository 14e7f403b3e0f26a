"""Set of seqs in ascending order, kept as ranges."""

from __future__ import annotations

from bisect import bisect_right

MOST_RANGES = 100_000
"""Ranges above which the oldest half is dropped."""


class SeqRanges:
    """Seqs that are added in ascending order. One thread may add while others ask."""

    def __init__(self) -> None:
        self._ranges: tuple[list[int], list[int]] = [], []
        """First and last seq of each range."""

    def add(self, seq: int) -> None:
        firsts, lasts = self._ranges
        if lasts and lasts[-1] == seq - 1:
            lasts[-1] = seq
            return
        if len(firsts) >= MOST_RANGES:
            half = MOST_RANGES // 2
            self._ranges = firsts, lasts = firsts[half:], lasts[half:]
        lasts.append(seq)  # before its first, which alone makes it known
        firsts.append(seq)

    def __contains__(self, seq: int) -> bool:
        firsts, lasts = self._ranges
        at = bisect_right(firsts, seq) - 1
        return at >= 0 and seq <= lasts[at]
