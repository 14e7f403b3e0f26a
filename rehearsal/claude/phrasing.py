"""Wording of the script: lists, counts, quotations."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 160


def together(names: Sequence[str]) -> str:
    """Join names: tea, coffee and mate."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def several(count: int, unit: str) -> str:
    """Return `1 line` or `1,200 lines`."""
    return f"1 {unit}" if count == 1 else f"{count:,} {unit}s"


def short(words: str) -> str:
    """Return words on one line, cut to LONGEST."""
    flat = " ".join(words.split())
    if len(flat) <= LONGEST:
        return flat
    return f"{flat[:LONGEST].rstrip()}…"


def untagged(text: str) -> str:
    """Replace tags, which could end a section."""
    return text.replace("<", "\u2039")
