"""What long texts are made of, for the tests of pages."""

from __future__ import annotations

PROSE = "The quick brown fox jumps over the lazy dog, and nobody minds. "
CODE = "    value = compute(value)  # again\n"
ROW = "| one | two |\n"
TABLE = f"| a | b |\n|---|:-:|\n{ROW}"


def long(piece: str, size: int) -> str:
    """So much of it, in whole pieces."""
    return piece * (size // len(piece))
