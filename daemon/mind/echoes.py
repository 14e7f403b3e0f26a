"""Instructions of ours that a model sends back in place of an answer: runs of their words."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

ECHO_RUN_LENGTH = 8
"""Words in a row that nobody repeats by chance."""
ECHO_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
TO_THE_SOUL = frozenset({"you", "your", "yours", "yourself"})
"""Words of which one stands in a sentence that is said to the soul, in the owner's text about it."""

WordRun = tuple[str, ...]


def repeats_instructions(
    said: str, instructions: Iterable[str], character: str = "", heard: Iterable[str] = ()
) -> bool:
    """True if these words repeat a run of our instructions, or of what the character tells the soul.

    What the character says without speaking to the soul may be said, and so may what people said before.
    """
    mine = word_runs(said)
    if not mine:
        return False
    ours = frozenset[WordRun]().union(*map(word_runs, instructions))
    told = {run for run in mine & word_runs(character) if TO_THE_SOUL.intersection(run)}
    found = (mine & ours) | told
    return bool(found) and not found <= frozenset[WordRun]().union(*map(word_runs, heard))


@functools.lru_cache
def word_runs(text: str) -> frozenset[WordRun]:
    """Return all runs of so many words, whatever stands between the words."""
    words = ECHO_WORD.findall(text.casefold().replace("\u2019", "'"))
    return frozenset(
        tuple(words[at : at + ECHO_RUN_LENGTH]) for at in range(len(words) - ECHO_RUN_LENGTH + 1)
    )
