"""The thoughts with which an answer begins, between tags such as `<think>`, are taken away from its text."""

from __future__ import annotations

import re

OPENING = re.compile(r"<(think(?:ing)?|thought|reasoning)>|\[(think)\]", re.IGNORECASE)
OPENINGS = ("<think>", "<thinking>", "<thought>", "<reasoning>", "[think]")
LONGEST_CLOSING = len("</reasoning>")


class LeadingThoughtFilter:
    """Takes the thoughts away from one answer, piece by piece; what may still become one is held back."""

    def __init__(self) -> None:
        self.length = 0
        """Characters that were thoughts."""
        self._held = ""
        self._closing: re.Pattern[str] | None = None
        """The end of the thought that is open."""
        self._has_thought = False
        self._is_over = False
        """True once the answer itself has begun."""

    def feed(self, text: str) -> str:
        """Return what of the answer is surely none, now that this has come, too."""
        if self._is_over:
            return text
        self._held += text
        while self._closing is None or self._has_closed(self._closing):
            bare = self._held.lstrip()
            opened = OPENING.match(bare)
            if opened is None:
                return self._begin(bare)
            self._held = bare[opened.end() :]
            self._has_thought = True
            self._closing = re.compile(rf"</{opened[1]}\s*>|\[/{opened[2]}\]", re.IGNORECASE)
        return ""

    def end(self) -> str:
        """Return what is held back still, and was no thought."""
        if self._is_over or self._closing:
            return ""
        self._is_over = True
        return self._held

    def _has_closed(self, closing: re.Pattern[str]) -> bool:
        found = closing.search(self._held)
        if found is None:
            kept = self._held[-LONGEST_CLOSING:]
            self.length += len(self._held) - len(kept)
            self._held = kept
            return False
        self.length += found.start()
        self._held = self._held[found.end() :].lstrip()
        self._closing = None
        return True

    def _begin(self, bare: str) -> str:
        """Begin with the answer, unless what has come of it may still become a thought."""
        if any(opening.startswith(bare.casefold()) for opening in OPENINGS):
            return ""
        self._is_over = True
        return bare if self._has_thought else self._held
