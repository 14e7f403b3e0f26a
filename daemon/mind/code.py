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
    def hides(self) -> bool:
        """True while a private section of ours is open."""
        return self._within > 0

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
            decided: list[Token] = []
            for line in token.splitlines(keepends=True):
                decided += self._text(line)
            return decided
        if token.name in self._hidden and self.says_block:
            return self._text(token.raw)
        if token.kind == "tag":  # another section: whatever was open in this one is closed
            return [*self.give_up(), *self._real(token)]
        if self._in_block:
            return self._text(token.raw)
        if self._span <= 0:
            return self._real(token)
        if token.kind == "other":
            return self._text(token.raw)
        return self._keep(token)

    def fence(self, run: str) -> list[Token]:
        """A run of backticks or tildes."""
        at_start, self.at_start = self.at_start, False
        if self._fence:
            self._ends = at_start and run.startswith(self._fence)
        elif run[0] == "~" or self._span == 0:
            if run[0] == "`":
                self._span = len(run)
            self._begins = ""
            if at_start and len(run) >= 3:
                self._begins = run
        elif self._span > 0:
            self._begins = ""
            if self._span == len(run):
                self._span = 0
                return [*map(_raw, self._given_back()), run]
        return self._after_kept(run)

    def give_up(self) -> list[Token]:
        """What was kept back is no code."""
        if not self._kept:
            return []
        self._fence = self._begins
        self._torn = bool(self._begins)
        self._begins = ""
        self._span = -1
        return self._given_back()

    def _real(self, mark: Mark) -> list[Token]:
        """A mark that counts: what comes after it is another text."""
        public = mark.kind == "tag" and mark.name not in self._hidden
        if mark.kind in ("thought", "token"):
            self._aloud = False
        elif public and not self._within:
            self._aloud = not mark.closing
        elif mark.kind == "tag" and not public:
            self._enter_or_leave(mark)
        self.at_start = False
        if mark.kind in ("tag", "thought", "token"):
            if public:
                self._fence = ""
            elif not self._fence:
                self._fence = self._begins
            self._torn = bool(self._fence)
            self._begin_line()
        return [mark]

    def _enter_or_leave(self, mark: Mark) -> None:
        """A hidden section begins or ends."""
        if not mark.closing:
            self._within += 1
        elif self._within:
            self._within -= 1

    def _text(self, text: str) -> list[Token]:
        if text.strip():
            self._ends = False
            self.at_start = self.at_start and not text.strip("> \t")
        if not text.endswith("\n"):
            return self._after_kept(text)
        given = self.give_up()
        if self._ends:
            self._fence = ""
            self._torn = False
        elif not self._fence:
            self._fence = self._begins
        self._begin_line()
        return [*given, text]

    def _begin_line(self) -> None:
        self.at_start = True
        self._span = 0
        self._begins = ""
        self._ends = False

    def _after_kept(self, text: str) -> list[Token]:
        """Text is kept back, too, where something before it is."""
        if not self._kept:
            return [text]
        return self._keep(text)

    def _keep(self, token: Token) -> list[Token]:
        self._kept.append(token)
        self._size += len(_raw(token))
        if self._size <= LONGEST:
            return []
        return self.give_up()

    def _given_back(self) -> list[Token]:
        """All that was kept back."""
        kept, self._kept = self._kept, []
        self._size = 0
        return kept


def _raw(token: Token) -> str:
    """How it was written."""
    if isinstance(token, str):
        return token
    return token.raw
