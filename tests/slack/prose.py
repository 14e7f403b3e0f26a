"""Pieces of long texts."""

from __future__ import annotations

PROSE = "The quick brown fox jumps over the lazy dog, and nobody minds. "
CODE = "    value = compute(value)  # again\n"
ROW = "| one | two |\n"
TABLE = f"| a | b |\n|---|:-:|\n{ROW}"


def long(piece: str, size: int) -> str:
    return piece * (size // len(piece))
