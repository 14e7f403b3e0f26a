"""Harmony's channels where a server has dropped their marks: `analysisThe user … assistantfinalHello`.

Only an answer that begins so is one; sections.py reads what is left.
"""

from __future__ import annotations

CHANNELS = ("analysis", "commentary", "assistantanalysis", "assistantcommentary")
HARMONY_FINAL_TEXT = "assistantfinal"
LONGEST = 1_000
"""Characters that are kept back at the most, until it is known how an answer begins."""


class UnmarkedHarmonyFilter:
    """Takes such a thought, which no mark of its own closes, out of an answer that comes in pieces."""

    def __init__(self) -> None:
        self.found = False
        """Did the answer begin with one?"""
        self._passes = False
        """Is all that comes now what the model says?"""
        self._kept = ""

    def feed(self, delta: str) -> str:
        """Take the next piece; returns what of it, and of what was kept back, is no such thought."""
        if self._passes:
            return delta
        self._kept += delta
        if not self.found:
            begun = begins_channel(self._kept)
            if begun is None and len(self._kept) <= LONGEST:
                return ""
            if not begun:
                return self.end()
            self.found = True
        _, final, rest = self._kept.partition(HARMONY_FINAL_TEXT)
        if final:
            self._passes = True
        else:
            self._kept = self._kept[1 - len(HARMONY_FINAL_TEXT) :]
        return rest

    def end(self) -> str:
        """No more will come: returns what was kept back, if it was no thought."""
        self._passes = True
        kept, self._kept = self._kept, ""
        if self.found:
            return ""
        return kept


def begins_channel(text: str) -> bool | None:
    """Does an answer that begins so begin with a channel's name? None: that is not known yet.

    A word that is no more than the name of a channel stands before what begins a sentence.
    """
    text = text.lstrip()
    for name in CHANNELS:
        first = text.removeprefix(name).lstrip()[:1]
        if text.startswith(name) and first:
            return first.isalpha() and not first.islower()
    if any(name.startswith(text.rstrip()) for name in CHANNELS):
        return None
    return False
