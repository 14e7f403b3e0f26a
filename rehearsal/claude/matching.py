"""Likeness of a person's words to a name and its description, by the words that they share.

Nothing here knows what a word means; deploy, deploys and deployed are one by their first letters.
"""

from __future__ import annotations

import re

from rehearsal.claude.wanted import COMMON

WORD = re.compile(r"[^\W_]+")
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
PART_OF_NAME = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
SHORTEST = 4
"""Letters that two words share at the beginning, where they are two forms of one."""
ENDING = 4
"""Letters of the longest ending that is looked past: deploy, deployment."""
EVERYBODYS = COMMON | {"someone", "something", "somebody", "want", "wants", "thing", "things", "people"}
"""Words that stand in any description."""


def words_of(text: str) -> list[str]:
    """The words that say what a text is about, in small letters, each once; a name counts as its parts."""
    apart = HUMP.sub(" ", text).lower()
    return [word for word in dict.fromkeys(WORD.findall(apart)) if _counts(word)]


def parts_of(name: str) -> list[str]:
    """The words that a name is made of: LookUpDeploys, look_up_deploys."""
    return [part.lower() for part in PART_OF_NAME.findall(name)]


def alike(one: str, other: str) -> bool:
    """Return True if these are two forms of a word, as far as letters tell."""
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    if shared < min(SHORTEST, len(one), len(other)) or shared < 3:
        return False
    return len(one) - shared <= ENDING and len(other) - shared <= ENDING


def shared(words: str, text: str) -> list[str]:
    """The words of the first text that the other one has, too, in some form."""
    known = words_of(text)
    return [word for word in words_of(words) if any(alike(word, other) for other in known)]


def _counts(word: str) -> bool:
    return word not in EVERYBODYS and len(word) > 2 and not word.isdigit()
