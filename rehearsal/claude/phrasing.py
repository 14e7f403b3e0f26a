"""How the script words what it says: things in a row, numbers of things, quotations."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 160
"""Characters of a quotation."""


def together(names: Sequence[str]) -> str:
    """These in a row: tea, coffee and mate."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def several(count: int, unit: str) -> str:
    """`1 line`, `1,200 lines`"""
    return f"1 {unit}" if count == 1 else f"{count:,} {unit}s"


def short(words: str) -> str:
    """Words as they are quoted: on one line, and not too long."""
    flat = " ".join(words.split())
    if len(flat) <= LONGEST:
        return flat
    return f"{flat[:LONGEST].rstrip()}…"


def untagged(text: str) -> str:
    """The text with no tag in it that would end a section."""
    return text.replace("<", "\u2039")
