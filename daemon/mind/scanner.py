"""Finds the marks in an answer as it comes: for sections.py.

A state machine: each character is read once, and only what may yet become a mark is kept back.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable

from daemon.mind.code import LONGEST, Code
from daemon.mind.headings import COLONS, DECORATION, heading, label
from daemon.mind.marks import BRACKETED, LINKED, LONGEST_NAME, THOUGHTS, Mark, Token, kind_of

PLAIN = re.compile(r"[^<◁\[`\n]+")
"""What cannot begin a mark within a line."""
OPENERS, CLOSERS = "<◁", ">▷"
ENDS = OPENERS + CLOSERS + "`"
"""What ends a tag, or shows that it is none."""
BARS = "|\uff5c"
"""`<|name|>` is a control token of a model's format, as in harmony."""
Reader = Generator[None, str, str]
"""Takes one character at a time, "" at the end; returns the first one that it did not use."""


class Scanner:
    """Splits an answer into texts and marks, in order. Within code only our own tags are marks (see code.py).

    `hidden` are those of our tags in which nothing is spoken: they are open even where a bracket is missing.
    """

    def __init__(self, tags: Iterable[str], hidden: Iterable[str] = ()) -> None:
        self._tags = frozenset(tags)
        self._hidden = frozenset(hidden)
        self._code = Code(self._hidden)
        self._out: list[Token] = []
        self._plain = False
        """Is what comes next within a line, and in the middle of nothing?"""
        self._reader = self._read()
        next(self._reader)

    def feed(self, delta: str) -> list[Token]:
        """Take the next piece of the answer; returns what is decided by now."""
        at = 0
        while at < len(delta):
            run = PLAIN.match(delta, at) if self._plain else None
            if run:
                self._emit(run[0])
                at = run.end()
            else:
                self._reader.send(delta[at])
                at += 1
        return self._taken()

    def end(self) -> list[Token]:
        """No more will come: returns what is left, but for the beginning of a mark that broke off."""
        self._reader.send("")
        self._out += self._code.give_up()
        return self._taken()

    def _taken(self) -> list[Token]:
        taken, self._out = self._out, []
        return taken

    def _emit(self, token: Token) -> None:
        self._out += self._code.take(token)

    def _read(self) -> Reader:
        char = yield
        while True:
            if char in OPENERS and char:
                char = yield from self._angle(char)
            elif char == "[":
                char = yield from self._square()
            elif char == "`" or (char == "~" and self._code.at_start):
                char = yield from self._fence(char)
            elif self._code.may_label and (char.isalpha() or (char in DECORATION and char.strip())):
                token, char = yield from heading(char, self._tags)
                self._emit(token)
            else:
                self._emit(char)
                self._plain = self._code.within_line
                char = yield
                self._plain = False

    def _fence(self, sign: str) -> Reader:
        """A run of backticks or tildes."""
        run, char = "", sign
        while char == sign:
            run += char
            char = yield
        self._out += self._code.fence(run)
        return char

    def _angle(self, opener: str) -> Reader:
        """`<`, and what may be the name of a tag behind it."""
        held, closing, name = opener, False, ""
        char = yield
        if char and char in BARS:
            return (yield from self._token(held + char))
        while char.isspace() or (char == "/" and not closing):
            closing = closing or char == "/"
            held += char
            if len(held) > LONGEST:  # only white space: it may be seen, and is not kept back
                self._emit(held)
                held = ""
            char = yield
        while char and (char.isalnum() or char in "_:.-") and len(name) <= LONGEST_NAME:
            name += char
            char = yield
        held += name
        kind = kind_of(name, self._tags, self._hidden)
        if not char and self._unfinished(kind, name):
            return char
        match kind:
            case "tag" if closing or name.lower() not in self._hidden or self._code.says_block:
                return (yield from self._rest_of_tag(held, name.lower(), char, closing=closing))
            case "tag":
                return (yield from self._open_hidden(held, name.lower(), char))
            case "thought":
                return (yield from self._thought(held, name.lower(), char, closing=closing))
            case "other":
                return (yield from self._other(held, name.lower(), char, closing=closing))
        self._emit(held)
        return char

    def _unfinished(self, kind: str, name: str) -> bool:
        """Does the answer break off in what could have become a mark that is ours, or a thought's?"""
        known = (*self._tags, *THOUGHTS)
        return kind != "thought" and any(one.startswith(name.lower()) for one in known)

    def _rest_of_tag(self, held: str, name: str, char: str, *, closing: bool) -> Reader:
        """A tag of ours up to its last bracket. One that closes what is spoken closes it without one, too."""
        while char and char not in ENDS and len(held) < LONGEST:
            held += char
            char = yield
        if char and char in CLOSERS:
            self._emit(Mark(kind="tag", name=name, raw=held + char, closing=closing))
            return (yield)
        if closing and name not in self._hidden:
            self._emit(Mark(kind="tag", name=name, raw=held, closing=True, broken=True))
        elif char:
            self._emit(held)
        return char

    def _open_hidden(self, held: str, name: str, char: str) -> Reader:
        """It is open at once: what stands within the bracket is as private as what comes after it."""
        self._emit(Mark(kind="tag", name=name, raw=f"{held}>"))
        while char and char not in OPENERS and char not in CLOSERS:
            char = yield
        return (yield) if char and char in CLOSERS else char

    def _thought(self, held: str, name: str, char: str, *, closing: bool) -> Reader:
        """It is open at once; only a whole tag closes it."""
        if not closing:
            if char and char in CLOSERS:
                self._emit(Mark(kind="thought", name=name, raw=held + char))
                return (yield)
            self._emit(Mark(kind="thought", name=name, raw=held))
            return char
        while char.isspace() and len(held) < LONGEST:
            held += char
            char = yield
        whole = bool(char) and char in CLOSERS
        raw = held + char if whole else held
        self._emit(Mark(kind="thought", name=name, raw=raw, closing=True, broken=not whole))
        return (yield) if whole else char

    def _other(self, held: str, name: str, char: str, *, closing: bool) -> Reader:
        """A tag that nobody knows; without its last bracket in the same line it is text."""
        while char and char not in ENDS and char != "\n" and len(held) < LONGEST:
            held += char
            char = yield
        if not (char and char in CLOSERS):
            self._emit(held)
            return char
        held += char
        alone = held[-2] == "/"
        self._emit(held if alone else Mark(kind="other", name=name, raw=held, closing=closing))
        return (yield)

    def _token(self, held: str) -> Reader:
        """`<|name|>`."""
        name = ""
        char = yield
        while char and (char.isalnum() or char in "_▁-") and len(name) < LONGEST_NAME:
            name += char
            char = yield
        held += name
        if name and char and char in BARS:
            held += char
            char = yield
            if char and char in CLOSERS:
                self._emit(Mark(kind="token", name=name.lower().replace("▁", "_"), raw=held + char))
                return (yield)
        if char:
            self._emit(held)
        return char

    def _square(self) -> Reader:
        """`[NAME]`, unless it is a link's text."""
        held, name = "[", ""
        may_label = self._code.may_label
        char = yield
        closing = char == "/"
        if closing:
            held += char
            char = yield
        while char.isalpha() and len(name) < LONGEST_NAME:
            name += char
            char = yield
        held += name
        if may_label and char and char in COLONS and name.lower() in self._tags:
            token, char = yield from label(held, name.lower(), char)
            self._emit(token)
            return char
        if char != "]" or name.lower() not in BRACKETED | self._hidden:
            cut_off = not char and any(one.startswith(name.lower()) for one in BRACKETED | self._hidden)
            if not cut_off:
                self._emit(held)
            return char
        held += char
        char = yield
        if char == "(" and not closing and name in LINKED:
            self._emit(held)
            return char
        self._emit(Mark(kind="thought", name=f"[{name.lower()}]", raw=held, closing=closing))
        return char
