"""Characters that people do not see, but models read: removed from text, or shown as escapes."""

from __future__ import annotations

import unicodedata

BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2065\u2800\u3164\uffa0")
"""Characters that count as letters or symbols but show nothing."""

HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls, format characters, halves of a pair, separators of lines."""

HIDDEN_RANGES = (
    range(0x180B, 0x1810),
    range(0xFE00, 0xFE10),
    range(0xFFF0, 0xFFF9),
    range(0xE0000, 0xE1000),
)
"""Variation selectors, tags, and code points that Unicode keeps for such characters."""

SEEN_SPACE = frozenset("\n\t ")


def is_invisible(character: str) -> bool:
    """True for tags, zero width and bidirectional characters, controls and whatever else shows nothing."""
    if character in SEEN_SPACE:
        return False
    if unicodedata.category(character) in HIDDEN_CATEGORIES or character in BLANK_LETTERS:
        return True
    return any(ord(character) in span for span in HIDDEN_RANGES)


def without_invisible(text: str) -> tuple[str, int]:
    """Return the text without invisible characters, and their number."""
    if text.isascii() and text.isprintable():
        return text, 0
    text = text.replace("\r\n", "\n")
    kept = "".join(character for character in text if not is_invisible(character))
    return kept, len(text) - len(kept)


def show_invisible(text: str) -> str:
    """Return the text with invisible characters as escapes, such as `\\u200b`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"\\u{ord(one):04x}" if is_invisible(one) else one for one in text)
