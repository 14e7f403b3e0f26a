"""Puts a text together again where something was left out, so that nobody sees a gap."""

from __future__ import annotations

import re

SPACE = " \t"
OPENED = {"(": ")", "[": "]"}
PARTING = (",", ";")
CLOSING = ".,;:!?)]}\n"
EMPHASIS = "*_~"
"""Ends here what it stands at, if no space is before it."""
DEEPEST = 3
"""So many brackets around nothing go with it."""
BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,4}[.)])?[ \t]*")


class TextSplicer:
    """Pieces of a text, in order, some of them with something left out between them."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._gap = False
        """Was the last thing left out?"""
        self._spaced = False
        """Was there space beside it?"""

    def add(self, piece: str) -> None:
        """The text goes on so."""
        if self._gap:
            piece = self._closed(piece)
        if piece:
            self._pieces.append(piece)

    def leave_out(self) -> None:
        """Something stood here that is left out."""
        self._spaced = self._strip() or (self._gap and self._spaced)
        self._gap = True

    def text(self) -> str:
        """The whole of it."""
        if self._gap:
            self._without_bullet()
        return "".join(self._pieces)

    def _closed(self, piece: str) -> str:
        """How a piece goes on after the gap; if it is but space, the gap goes on."""
        rest = piece.lstrip(SPACE)
        self._spaced = self._spaced or len(rest) < len(piece)
        for _ in range(DEEPEST):
            rest = self._without_brackets(rest)
        if not rest:
            return ""
        self._gap = False
        if rest[0] == "\n" and self._without_bullet():
            return rest[1:]
        closing = CLOSING
        if piece[0] not in SPACE:
            closing += EMPHASIS
        if self._last_piece() in ("", "\n", *OPENED) or rest[0] in closing or not self._spaced:
            return rest
        return f" {rest}"

    def _without_brackets(self, rest: str) -> str:
        """The rest without what parts nothing from something, and without the end of an empty bracket."""
        if self._last_piece() in OPENED and rest.startswith(PARTING):
            rest = rest[1:].lstrip(SPACE)
        if self._last_piece() in PARTING and rest.startswith((")", "]")):
            self._cut(1)
            self._strip()
        if rest and OPENED.get(self._last_piece()) == rest[0]:
            self._cut(1)
            self._spaced = self._strip()
            after = rest[1:].lstrip(SPACE)
            self._spaced = self._spaced or len(after) < len(rest) - 1
            return after
        return rest

    def _without_bullet(self) -> bool:
        """Take away the line that stands at the end, if there is nothing in it any more."""
        last = ""
        if self._pieces:
            last = self._pieces[-1].rpartition("\n")[2]
        if not BULLET.fullmatch(last):
            return False
        if last:
            self._cut(len(last))
        return True

    def _last_piece(self) -> str:
        if not self._pieces:
            return ""
        return self._pieces[-1][-1]

    def _cut(self, letters: int) -> None:
        """Without the last letters, of the last piece."""
        self._pieces[-1] = self._pieces[-1][:-letters]
        if not self._pieces[-1]:
            self._pieces.pop()

    def _strip(self) -> bool:
        """Without spaces at the end; whether there were any."""
        stripped = False
        while self._pieces and self._pieces[-1][-1] in SPACE:
            self._pieces[-1] = self._pieces[-1].rstrip(SPACE)
            stripped = True
            if not self._pieces[-1]:
                self._pieces.pop()
        return stripped
