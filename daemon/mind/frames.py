"""What is open in an answer while it is read, and the texts that grow in it. For sections.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(slots=True, kw_only=True)
class Frame:
    """What is open. `foreign`: a thought of another model's kind, which ends by its own mark alone.

    `token`: what comes after a control token. `label`: what stands under a heading that names a private
    section. `doubt`: under a tag that nobody knows, before anything was said: a thought, if it is closed.
    """

    kind: Literal["section", "foreign", "token", "label", "doubt"]
    name: str
    raw: str = ""
    header: str | None = None
    """Of a token: what came since the one that names a channel; None: no header is open."""
    blank: bool = True
    """Does nothing stand in it?"""
    within: list[str] = field(default_factory=list)


class Text:
    """A text that grows in pieces, joined when it is looked at."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.blank = True
        """Does it hold white space alone?"""

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def add(self, text: str) -> None:
        """It goes on so."""
        self._pieces.append(text)
        self.blank = self.blank and not text.strip()

    def clear(self) -> None:
        """None of it counts any more."""
        self._pieces.clear()
        self.blank = True
