"""Numbers before the lines of a text that a model reads, so that it can cite them; and a quotation without.

The bar after a number is one that hardly any text has, so that what was copied with a line can be told.
"""

from __future__ import annotations

import re

BAR = "\u2502"
COPIED = re.compile(rf"(?:(?<=\s)|^)\d+{BAR}\s?|\s?(?<=\s)\d*{BAR}(?=\s|$)")
"""A number, or what is left of one, that was copied into a quotation."""


def with_line_numbers(text: str, first: int = 1) -> str:
    """The text with the number of each line before it; the first line has this one."""
    lines = text.removesuffix("\n").split("\n")
    return "\n".join(f"{number}{BAR} {line}" for number, line in enumerate(lines, first))


def without_line_numbers(quote: str) -> str:
    """A quotation without the numbers that were copied with its lines."""
    if BAR not in quote:
        return quote
    return COPIED.sub("", quote).strip()
