"""Streaming scanner of marks in model answers.

Each character is read once; only possible marks are held back.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from dataclasses import replace
from unicodedata import normalize

from daemon.answers.marks import (
    BRACKETED,
    CLOSERS,
    COLONS,
    DECORATION,
    ESCAPED_CLOSERS,
    ESCAPED_OPENERS,
    INVISIBLE_CHARACTERS,
    LINKED,
    LONGEST_NAME,
    MOST_HELD_BACK,
    OPENERS,
    SLASHES,
    THOUGHT_TAGS,
    WIDE_OPENERS,
    AnswerMark,
    CodeTracker,
    TagKind,
    Token,
    begins_any_name,
    match_heading,
    match_label,
    tag_kind,
)

PLAIN = re.compile(r"[^<◁\uff1c\ufe64&\\\[`\n]+")


ESCAPES = frozenset("&\\")


GAPS = INVISIBLE_CHARACTERS | {"\\"}
"""Characters that may stand between bracket and name, besides white space."""


BRACKETS = OPENERS | CLOSERS | {""}


ENDS = BRACKETS | {"`"}
"""Characters that end a tag or show that there is none."""


BARS = frozenset("|\uff5c")
"""Bars of a control token `<|name|>`, as in harmony."""


SUFFIX_SIGNS = frozenset("-0123456789")
"""Characters of which suffixes consist, besides letters."""


SLIP = r"(?:-|[-_.](?:[a-z]\d?|\d))"
"""Pattern of an incomplete or wrong suffix."""


COMMENT, COMMENT_ENDS = "<!--", "-->"


TAG_SIGNS = frozenset("_:.-")


TOKEN_SIGNS = frozenset("_▁-")
"""Characters of a token's name, besides letters and digits."""


Reader = Generator[None, str, str]
"""Matcher that takes characters, "" at the end, and returns the first unused one."""


class AnswerScanner:
    """Scanner that splits an answer into texts and marks; within code only our tags count.

    `hidden`: private tags, which open even without their bracket. Once a tag has the `suffix`, others are
    strays.
    """

    def __init__(self, tags: Iterable[str], hidden: Iterable[str] = (), suffix: str = "") -> None:
        self._tags = frozenset(tags)
        self._hidden = frozenset(hidden)
        self._suffixed: re.Pattern[str] | None = None
        if suffix:
            names = "|".join(map(re.escape, self._tags))
            exact = re.escape(suffix)
            self._suffixed = re.compile(rf"(?P<tag>{names})(?:(?P<exact>-{exact})|[-_.:]?{exact}|{SLIP})")
        self._bracketed = BRACKETED | self._hidden
        self._code = CodeTracker(self._hidden)
        self._out: list[Token] = []
        self._is_tagged = False
        self._plain = False
        self._reader = self._read()
        next(self._reader)

    def feed(self, delta: str) -> list[Token]:
        """Process a piece of the answer; return the tokens that are decided by now."""
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
        self._reader.send("")
        self._out += self._code.end()
        return self._taken()

    @property
    def is_marked(self) -> bool:
        """True once a tag with suffix counted."""
        return self._code.is_marked

    def _taken(self) -> list[Token]:
        taken, self._out = self._out, []
        return taken

    def _known(self, name: str) -> tuple[TagKind, str, bool]:
        kind, tag, exact = tag_kind(name, self._tags, self._hidden), name.lower(), False
        ours = self._suffixed and self._suffixed.fullmatch(tag)
        if ours:
            kind, tag, exact = "tag", ours["tag"], ours["exact"] is not None
        if kind != "tag" or exact or not self._code.is_marked:
            return kind, tag, exact
        if ours and tag in self._hidden:
            return "thought", name.lower(), False
        return "stray", tag, False

    def _emit(self, token: Token) -> None:
        self._out += self._code.take(token)

    def _read(self) -> Reader:
        char = yield
        while True:
            if char in OPENERS:
                char = yield from self._angle(char, escaped=char in WIDE_OPENERS)
            elif char in ESCAPES:
                char = yield from self._escaped(char)
            elif char == "[":
                char = yield from self._square()
            elif char == "`" or (char == "~" and self._code.at_start):
                char = yield from self._fence(char)
            elif self._code.may_label and (char.isalpha() or (char in DECORATION and char.strip())):
                token, char = yield from match_heading(char, self._tags)
                self._emit(token)
            else:
                self._emit(char)
                self._plain = self._code.within_line
                char = yield
                self._plain = False

    def _fence(self, sign: str) -> Reader:
        run, char = "", sign
        while char == sign:
            run += char
            char = yield
        self._out += self._code.fence(run)
        return char

    def _escaped(self, held: str) -> Reader:
        char = yield
        while char and begins_any_name((held + char).lower(), ESCAPED_OPENERS):
            held += char
            if held.lower() in ESCAPED_OPENERS:
                return (yield from self._angle(held, escaped=True))
            char = yield
        if char or not begins_any_name(held.lower(), ESCAPED_OPENERS) or len(held) == 1:
            self._emit(held)
        return char

    def _angle(self, opener: str, *, escaped: bool) -> Reader:
        char = yield
        if char in BARS and not escaped:
            return (yield from self._token(opener + char))
        if char == "!" and not escaped:
            return (yield from self._comment(opener + char))
        held, closing = opener, False
        while char.isspace() or char in GAPS or (char in SLASHES and not closing):
            closing = closing or char in SLASHES
            held += char
            if len(held) > MOST_HELD_BACK:  # long white space is text
                self._emit(held)
                held = ""
            char = yield
        name = ""
        while (char.isalnum() or char in TAG_SIGNS or char in INVISIBLE_CHARACTERS) and len(
            name
        ) <= LONGEST_NAME:
            held += char
            if char not in INVISIBLE_CHARACTERS:
                name += char
            char = yield
        name = normalize("NFKC", name)
        if escaped:
            return (yield from self._escaped_tag(held, name, char, closing=closing))
        return (yield from self._named(held, name, char, closing=closing))

    def _escaped_tag(self, held: str, name: str, char: str, *, closing: bool) -> Reader:
        """Read a tag in escaped brackets: a mark if private, or if none of ours was plain."""
        kind, name, exact = self._known(name)
        is_private = kind == "thought" or name in self._hidden
        if kind not in ("tag", "thought") or (self._is_tagged and not is_private):
            if char or not begins_any_name(name, self._tags | THOUGHT_TAGS):
                self._emit(held)
            return char
        closer = ""
        while char and begins_any_name((closer + char).lower(), (*ESCAPED_CLOSERS, *CLOSERS)):
            closer += char
            char = yield
            if closer.lower() in ESCAPED_CLOSERS or closer in CLOSERS:
                mark = AnswerMark(kind=kind, name=name, raw=held + closer, closing=closing, exact=exact)
                self._emit(self._counted(mark))
                return char
        if char:
            self._emit(held + closer)
        return char

    def _counted(self, mark: AnswerMark) -> AnswerMark:
        """Return the mark; a private closing tag that closes nothing is a thought's."""
        if mark.kind == "tag" and mark.closing and mark.name in self._hidden and not self._code.hides:
            return replace(mark, kind="thought")
        return mark

    def _comment(self, held: str) -> Reader:
        char = yield
        while char and COMMENT.startswith(held + char):
            held += char
            char = yield
        if held != COMMENT:
            self._emit(held)
            return char
        while char.isspace() and len(held) < MOST_HELD_BACK:
            held += char
            char = yield
        closing = char == "/"
        name = ""
        while (char.isalnum() or (char == "/" and not name)) and len(name) < LONGEST_NAME:
            held += char
            if char != "/":
                name += char
            char = yield
        kind = tag_kind(name, self._tags, self._hidden)
        if kind != "thought" and name.lower() not in self._hidden:
            if char or not begins_any_name(name.lower(), self._tags | THOUGHT_TAGS):
                self._emit(held)
            return char
        mark = AnswerMark(kind="thought", name=name.lower(), raw=held, closing=closing)
        return (yield from self._private_comment(mark, char))

    def _private_comment(self, mark: AnswerMark, char: str) -> Reader:
        held = mark.raw
        while char.isspace() and len(held) < MOST_HELD_BACK:
            held += char
            char = yield
        ends = ""
        while char and COMMENT_ENDS.startswith(ends + char):
            ends += char
            char = yield
        if ends == COMMENT_ENDS:
            self._emit(replace(mark, raw=held + ends))
            return char
        self._emit(replace(mark, name=COMMENT, raw=held, closing=False))
        last = ends
        while char and last != COMMENT_ENDS:
            last += char
            if len(last) > len(COMMENT_ENDS):
                self._emit(last[0])
                last = last[1:]
            char = yield
        if last == COMMENT_ENDS:
            self._emit(AnswerMark(kind="thought", name=COMMENT, raw=COMMENT_ENDS, closing=True))
        return char

    def _named(self, held: str, name: str, char: str, *, closing: bool) -> Reader:
        kind, name, exact = self._known(name)
        if not char and kind != "thought" and begins_any_name(name, self._tags | THOUGHT_TAGS):
            return char  # the answer broke off in a possible mark
        if kind == "text":
            self._emit(held)
            return char
        self._is_tagged = self._is_tagged or kind == "tag"
        mark = self._counted(AnswerMark(kind=kind, name=name, raw=held, closing=closing, exact=exact))
        match mark.kind:
            case "stray":
                return (yield from self._stray(mark, char))
            case "thought":
                return (yield from self._thought(mark, char))
            case "other":
                return (yield from self._other(mark, char))
        if closing or name not in self._hidden or (self._code.shows_block and not exact):
            return (yield from self._rest_of_tag(mark, char))
        if self._code.may_be_span:
            return (yield from self._rest_of_hidden(mark, char))
        return (yield from self._open_hidden(mark, char))

    def _stray(self, mark: AnswerMark, char: str) -> Reader:
        held, char = yield from _read_gap(mark, char)
        if char in CLOSERS:
            self._emit(replace(mark, raw=held + char))
            return (yield)
        if char or mark.closing:
            self._emit(replace(mark, raw=held, broken=True))
        return char

    def _rest_of_tag(self, mark: AnswerMark, char: str) -> Reader:
        """Read the rest of our tag; a public closing tag needs no bracket."""
        held = mark.raw
        while char not in ENDS and len(held) < MOST_HELD_BACK:
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

    def _rest_of_hidden(self, mark: AnswerMark, char: str) -> Reader:
        held = mark.raw
        while char not in ENDS and char != "\n":
            held += char
            char = yield
        if char in CLOSERS:
            self._emit(replace(mark, raw=held + char))
            return (yield)
        self._emit(replace(mark, raw=held))
        return char

    def _open_hidden(self, mark: AnswerMark, char: str) -> Reader:
        """Open a private section at once, since attributes are private, too."""
        self._emit(replace(mark, raw=f"{mark.raw}>"))
        while char not in BRACKETS:
            char = yield
        if char in CLOSERS:
            return (yield)
        return char

    def _thought(self, mark: AnswerMark, char: str) -> Reader:
        """Open a thought at once; only a complete closing tag ends it."""
        held, char = yield from _read_gap(mark, char)
        if char in CLOSERS:
            self._emit(replace(mark, raw=held + char))
            return (yield)
        self._emit(replace(mark, raw=held, broken=mark.closing))
        return char

    def _other(self, mark: AnswerMark, char: str) -> Reader:
        """Read an unknown tag; without a bracket in the same line it is text."""
        held = mark.raw
        while char not in ENDS and char != "\n" and len(held) < MOST_HELD_BACK:
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
                self._emit(AnswerMark(kind="token", name=name.lower().replace("▁", "_"), raw=held + char))
                return (yield)
        if char:
            self._emit(held)
        return char

    def _square(self) -> Reader:
        held, name = "[", ""
        may_label = self._code.may_label
        char = yield
        closing = char == "/"
        if closing:
            held += char
            char = yield
        while (char.isalpha() or (char in SUFFIX_SIGNS and name)) and len(name) < LONGEST_NAME:
            name += char
            char = yield
        held += name
        kind, tag, exact = self._known(name)
        if exact and char == "]":
            self._emit(
                self._counted(AnswerMark(kind="tag", name=tag, raw=f"{held}]", closing=closing, exact=True))
            )
            return (yield)
        if kind == "stray" and char == "]":
            self._emit(f"{held}]")
            return (yield)
        if tag in self._hidden:
            name = tag
        if may_label and char in COLONS and name.lower() in self._tags:
            token, char = yield from match_label(held, name.lower(), char)
            self._emit(token)
            return char
        return (yield from self._bracketed_thought(held, name, char, closing=closing))

    def _bracketed_thought(self, held: str, name: str, char: str, *, closing: bool) -> Reader:
        may_be_link = not closing and name in LINKED
        name = name.lower()
        if not char and begins_any_name(name, self._bracketed):
            return char  # the answer broke off in a possible mark
        if char != "]" or name not in self._bracketed:
            self._emit(held)
            return char
        held += char
        char = yield
        if char == "(" and may_be_link:
            self._emit(held)
        else:
            self._emit(AnswerMark(kind="thought", name=f"[{name}]", raw=held, closing=closing))
        return char


def _read_gap(mark: AnswerMark, char: str) -> Generator[None, str, tuple[str, str]]:
    """Read white space after a closing tag's name; return the text so far, and the next character."""
    held = mark.raw
    while mark.closing and (char.isspace() or char in GAPS) and len(held) < MOST_HELD_BACK:
        held += char
        char = yield
    return held, char
