"""Finds the marks in an answer as it comes: for sections.py.

A state machine: each character is read once, and only what may yet become a mark is kept back.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from dataclasses import replace

from daemon.mind.code import LONGEST, Code
from daemon.mind.headings import COLONS, DECORATION, heading, label
from daemon.mind.marks import BRACKETED, LINKED, LONGEST_NAME, THOUGHTS, Mark, Token, begins_any, kind_of

PLAIN = re.compile(r"[^<◁\[`\n]+")
"""What cannot begin a mark within a line."""
OPENERS = frozenset("<◁")
CLOSERS = frozenset(">▷")
BRACKETS = OPENERS | CLOSERS | {""}
ENDS = BRACKETS | {"`"}
"""What ends a tag, or shows that it is none; the end of the answer, too."""
BARS = frozenset("|\uff5c")
"""`<|name|>` is a control token of a model's format, as in harmony."""
TAG_SIGNS = frozenset("_:.-")
TOKEN_SIGNS = frozenset("_▁-")
"""What may stand in the name of a tag, and of a token, besides letters and digits."""
Reader = Generator[None, str, str]
"""Takes one character at a time, "" at the end; returns the first one that it did not use."""


class Scanner:
    """Splits an answer into texts and marks, in order. Within code only our own tags are marks (see code.py).

    `hidden` are those of our tags in which nothing is spoken: they are open even where a bracket is missing.
    """

    def __init__(self, tags: Iterable[str], hidden: Iterable[str] = ()) -> None:
        self._tags = frozenset(tags)
        self._hidden = frozenset(hidden)
        self._bracketed = BRACKETED | self._hidden
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
            if self._plain:
                run = PLAIN.match(delta, at)
                if run:
                    self._emit(run[0])
                    at = run.end()
                    continue
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
            if char in OPENERS:
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
        char = yield
        if char in BARS:
            return (yield from self._token(opener + char))
        held, closing = opener, False
        while char.isspace() or (char == "/" and not closing):
            closing = closing or char == "/"
            held += char
            if len(held) > LONGEST:  # only white space: it may be seen, and is not kept back
                self._emit(held)
                held = ""
            char = yield
        name = ""
        while (char.isalnum() or char in TAG_SIGNS) and len(name) <= LONGEST_NAME:
            name += char
            char = yield
        return (yield from self._named(held + name, name, char, closing=closing))

    def _named(self, held: str, name: str, char: str, *, closing: bool) -> Reader:
        """What comes after `<` and this name."""
        kind = kind_of(name, self._tags, self._hidden)
        name = name.lower()
        if not char and kind != "thought" and begins_any(name, self._tags | THOUGHTS):
            return char  # it breaks off in what could have become a mark
        if kind == "text":
            self._emit(held)
            return char
        mark = Mark(kind=kind, name=name, raw=held, closing=closing)
        match kind:
            case "thought":
                return (yield from self._thought(mark, char))
            case "other":
                return (yield from self._other(mark, char))
            case "tag" if closing or name not in self._hidden or self._code.says_block:
                return (yield from self._rest_of_tag(mark, char))
        return (yield from self._open_hidden(mark, char))

    def _rest_of_tag(self, mark: Mark, char: str) -> Reader:
        """A tag of ours up to its last bracket. One that closes what is spoken closes it without one, too."""
        held = mark.raw
        while char not in ENDS and len(held) < LONGEST:
            held += char
            char = yield
        if char in CLOSERS:
            self._emit(replace(mark, raw=held + char))
            return (yield)
        if mark.closing and mark.name not in self._hidden:
            self._emit(replace(mark, raw=held, broken=True))
        elif char:
            self._emit(held)
        return char

    def _open_hidden(self, mark: Mark, char: str) -> Reader:
        """It is open at once: what stands within the bracket is as private as what comes after it."""
        self._emit(replace(mark, raw=f"{mark.raw}>"))
        while char not in BRACKETS:
            char = yield
        if char in CLOSERS:
            return (yield)
        return char

    def _thought(self, mark: Mark, char: str) -> Reader:
        """It is open at once; only a whole tag closes it."""
        held = mark.raw
        while mark.closing and char.isspace() and len(held) < LONGEST:
            held += char
            char = yield
        if char in CLOSERS:
            self._emit(replace(mark, raw=held + char))
            return (yield)
        self._emit(replace(mark, raw=held, broken=mark.closing))
        return char

    def _other(self, mark: Mark, char: str) -> Reader:
        """A tag that nobody knows; without its last bracket in the same line it is text."""
        held = mark.raw
        while char not in ENDS and char != "\n" and len(held) < LONGEST:
            held += char
            char = yield
        if char not in CLOSERS:
            self._emit(held)
            return char
        held += char
        if held.endswith(("/>", "/▷")):
            self._emit(held)
        else:
            self._emit(replace(mark, raw=held))
        return (yield)

    def _token(self, held: str) -> Reader:
        """`<|name|>`."""
        name = ""
        char = yield
        while (char.isalnum() or char in TOKEN_SIGNS) and len(name) < LONGEST_NAME:
            name += char
            char = yield
        held += name
        if name and char in BARS:
            held += char
            char = yield
            if char in CLOSERS:
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
        if may_label and char in COLONS and name.lower() in self._tags:
            token, char = yield from label(held, name.lower(), char)
            self._emit(token)
            return char
        return (yield from self._bracketed_thought(held, name, char, closing=closing))

    def _bracketed_thought(self, held: str, name: str, char: str, *, closing: bool) -> Reader:
        """What comes after `[` and this name."""
        may_be_link = not closing and name in LINKED
        name = name.lower()
        if not char and begins_any(name, self._bracketed):
            return char  # it breaks off in what could have become a mark
        if char != "]" or name not in self._bracketed:
            self._emit(held)
            return char
        held += char
        char = yield
        if char == "(" and may_be_link:
            self._emit(held)
        else:
            self._emit(Mark(kind="thought", name=f"[{name}]", raw=held, closing=closing))
        return char
