"""Similarity of words and descriptions by shared words; inflections match by their first letters."""

from __future__ import annotations

import re

from rehearsal.claude.wanted import COMMON

WORD = re.compile(r"[^\W_]+")
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
PART_OF_NAME = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
SHORTEST = 4
"""Minimum letters shared by two forms of a word."""
ENDING = 4
"""Letters of the longest differing ending."""
EVERYBODYS = COMMON | {"someone", "something", "somebody", "want", "wants", "thing", "things", "people"}
"""Words of any description."""


def words_of(text: str) -> list[str]:
    """Return the distinct significant words in lower case; names are split."""
    apart = HUMP.sub(" ", text).lower()
    return [word for word in dict.fromkeys(WORD.findall(apart)) if _counts(word)]


def parts_of(name: str) -> list[str]:
    """Split a name such as LookUpDeploys or look_up_deploys."""
    return [part.lower() for part in PART_OF_NAME.findall(name)]


def alike(one: str, other: str) -> bool:
    """True if these look like forms of one word."""
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    if shared < min(SHORTEST, len(one), len(other)) or shared < 3:
        return False
    return len(one) - shared <= ENDING and len(other) - shared <= ENDING


def shared(words: str, text: str) -> list[str]:
    """Return the words of the first text that occur in the second in some form."""
    known = words_of(text)
    return [word for word in words_of(words) if any(alike(word, other) for other in known)]


def _counts(word: str) -> bool:
    return word not in EVERYBODYS and len(word) > 2 and not word.isdigit()
