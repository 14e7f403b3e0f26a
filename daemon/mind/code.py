"""What of an answer stands in code, as far as it is known while it comes. Made by scanner.py."""

from __future__ import annotations

from collections.abc import Collection

from daemon.mind.marks import Mark, Token

LONGEST = 1_000
"""Characters that are kept back at the most; what takes longer to become a mark is none."""


class Code:
    """Knows what stands in code: there, marks that are not ours are text.

    Of ours, those of a `hidden` section are text in a block of code that is said: an `<aside>` of HTML.
    Whether backticks begin code is known when they are closed, in the same line. A mark that comes before
    that is kept back with all that follows it.
    """

    def __init__(self, hidden: Collection[str] = ()) -> None:
        self._hidden = hidden
        self._aloud = False
        """Is a section open whose text is said, by our own tags alone?"""
        self._within = 0
        """How many hidden sections are open in it."""
        self.at_start = True
        """Does a line begin here?"""
        self._span = 0
        """How many backticks are open in this line; -1: they were never closed, and count no more."""
        self._begins = ""
        """The fence that this line may begin."""
        self._fence = ""
        """The fence that is open."""
        self._torn = False
        """Did a mark that counts stand in it? Then all do, up to its end."""
        self._ends = False
        """Does this line close it, if nothing else stands in it?"""
        self._kept: list[Token] = []
        self._size = 0

    @property
    def within_line(self) -> bool:
        """Can nothing happen before the next special character?"""
        return not (self.at_start or self._ends)

    @property
    def says_block(self) -> bool:
        """Does a block of code stand here that is said?"""
        return self._in_block and self._aloud and not self._within

    @property
    def _in_block(self) -> bool:
        return bool(self._fence) and not (self._ends or self._torn)

    @property
    def may_label(self) -> bool:
        """Would a heading be one here?"""
        return self.at_start and not self._fence

    def take(self, token: Token) -> list[Token]:
        """What is decided, now that this came."""
        if isinstance(token, str):
            return [one for piece in token.splitlines(keepends=True) for one in self._text(piece)]
        if token.name in self._hidden and self.says_block:
            return self._text(token.raw)
        if token.kind == "tag":  # another section: whatever was open in this one is closed
            return [*self.give_up(), *self._real(token)]
        if self._in_block:
            return self._text(token.raw)
        if self._span > 0:
            if token.kind == "other":
                return self._text(token.raw)
            return self._keep(token)
        return self._real(token)

    def fence(self, run: str) -> list[Token]:
        """A run of backticks or tildes."""
        start, self.at_start = self.at_start, False
        if self._fence:
            self._ends = start and run[0] == self._fence[0] and len(run) >= len(self._fence)
        elif run[0] == "~":
            self._begins = run if len(run) >= 3 else ""
        elif self._span == 0:
            self._span = len(run)
            self._begins = run if start and len(run) >= 3 else ""
        elif self._span > 0:
            self._begins = ""
            if self._span == len(run):
                self._span = 0
                kept, self._kept, self._size = self._kept, [], 0
                return [*(one if isinstance(one, str) else one.raw for one in kept), run]
        return self._keep(run) if self._kept else [run]

    def give_up(self) -> list[Token]:
        """What was kept back is no code."""
        kept, self._kept, self._size = self._kept, [], 0
        if kept:
            self._fence, self._torn, self._begins = self._begins, bool(self._begins), ""
            self._span = -1
        return kept

    def _real(self, mark: Mark) -> list[Token]:
        """A mark that counts: what comes after it is another text."""
        public = mark.kind == "tag" and mark.name not in self._hidden
        if mark.kind in ("thought", "token"):
            self._aloud = False
        elif public and not self._within:
            self._aloud = not mark.closing
        elif mark.kind == "tag" and not public:
            self._within = max(self._within + (-1 if mark.closing else 1), 0)
        self.at_start = mark.kind in ("tag", "thought", "token")
        if self.at_start:
            self._fence = "" if public else self._fence or self._begins
            self._torn = bool(self._fence)
            self._span, self._begins, self._ends = 0, "", False
        return [mark]

    def _text(self, text: str) -> list[Token]:
        if text.strip():
            self._ends = False
            self.at_start = self.at_start and not text.strip("> \t")
        if not text.endswith("\n"):
            return self._keep(text) if self._kept else [text]
        given = self.give_up()
        if self._ends:
            self._fence, self._torn = "", False
        elif self._begins and not self._fence:
            self._fence = self._begins
        self._span, self._begins, self._ends, self.at_start = 0, "", False, True
        return [*given, text]

    def _keep(self, token: Token) -> list[Token]:
        self._kept.append(token)
        self._size += len(token if isinstance(token, str) else token.raw)
        return self.give_up() if self._size > LONGEST else []
