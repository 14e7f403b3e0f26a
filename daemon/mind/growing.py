"""What is open in an answer while it is read, and the texts that grow in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(slots=True, kw_only=True)
class OpenSection:
    """What is open. `foreign`: a thought of another model's kind, which ends by its own mark alone.

    `token`: what comes after a control token. `label`: what stands under a heading that names a private
    section. `doubt`: under a tag that nobody knows, before anything was said: a thought, if it is closed.
    """

    kind: Literal["outside", "section", "foreign", "token", "label", "doubt"]
    name: str
    raw: str = ""
    in_header: bool = False
    """Of a token: is it the one that names a channel?"""
    header: str = ""
    """What came since that."""
    blank: bool = True
    """Does nothing stand in it?"""
    again: bool = False
    """True for a public section if one of its name said something: then nothing of this one counts."""
    tail: str = ""
    """The last words in it."""
    within: list[str] = field(default_factory=list)


class GrowingText:
    """A text that grows in pieces, joined when it is looked at."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.blank = True
        """Does it hold white space alone?"""

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return "".join(self._pieces)

    def append(self, text: str) -> None:
        """It goes on so."""
        self._pieces.append(text)
        if self.blank:
            self.blank = not text.strip()

    def clear(self) -> None:
        """None of it counts any more."""
        self._pieces.clear()
        self.blank = True
