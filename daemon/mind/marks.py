"""Finds the marks in a model's answer as it comes: our tags, and those by which models fence off thoughts.

A state machine for sections.py: each character is read once, and only what may yet become a mark is kept back.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Literal

LONGEST = 1_000
"""Characters that are kept back at the most; what takes longer to become a mark is none."""
LONGEST_NAME = 64
PLAIN = re.compile(r"[^<◁\[`\n]+")
"""What cannot begin a mark within a line."""
OPENERS, CLOSERS = "<◁", ">▷"
BARS = "|\uff5c"
"""`<|name|>` is a control token of a model's format, as in harmony."""
PARTS = re.compile(r"[a-z]+")
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
THOUGHTS = frozenset(
    """
    think thinks thinking thinker thought thoughts reasoning reflect reflects reflecting reflection
    reflections ponder pondering ponderings musing musings contemplate contemplation deliberate
    deliberation rationale scratchpad monologue analysis analyzing analysing cot innervoice
    """.split()  # noqa: SIM905
)
"""Words of which one in the name of a tag says that a thought stands in it."""
BRACKETED = frozenset({"think", "thinking", "thought", "thoughts", "reasoning"})
"""What `[NAME]` and `[/NAME]` fence off."""
HTML = frozenset(
    """
    a abbr acronym address area article audio b base bdi bdo big blockquote body br button canvas
    caption center cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed
    fieldset figcaption figure font footer form frame h1 h2 h3 h4 h5 h6 head header hr html i iframe img
    input ins kbd label legend li link main map mark math menu meta meter nav noscript object ol
    optgroup option p param picture pre progress q rp rt ruby s samp script section select slot small
    source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead
    time title tr track tt u ul var video wbr
    """.split()  # noqa: SIM905
)
"""Tags that are as public as plain words."""
COLONS = ":\uff1a"
DECORATION = "*_#(-• \t"
"""What may stand before a label: `**Aside:**`, `## Aside`, `(aside: …)`."""
MOST_DECORATION = 16
Reader = Generator[None, str, str]
"""Takes one character at a time, "" at the end; returns the first one that it did not use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One mark. `raw` is how it was written; `broken`: its last bracket is missing.

    `tag` is one of ours, `thought` another model's, `token` a control token, `label` a heading with the name
    of one of our tags, `other` a tag that nobody knows.
    """

    kind: Literal["tag", "thought", "token", "label", "other"]
    name: str
    raw: str
    closing: bool = False
    broken: bool = False


Token = str | Mark


class Scanner:
    """Splits an answer into texts and marks, in order. Within code only our own tags are marks.

    `hidden` are those of our tags in which nothing is spoken: they are open even where a bracket is missing.
    """

    def __init__(self, tags: Iterable[str], hidden: Iterable[str] = ()) -> None:
        self._tags = frozenset(tags)
        self._hidden = frozenset(hidden)
        self._code = Code()
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
                char = yield from self._label(char)
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
        kind = self._kind(name)
        if not char and self._unfinished(kind, name):
            return char
        match kind:
            case "tag" if closing or name.lower() not in self._hidden:
                return (yield from self._rest_of_tag(held, name.lower(), char, closing=closing))
            case "tag":
                return (yield from self._open_hidden(held, name.lower(), char))
            case "thought":
                return (yield from self._thought(held, name.lower(), char, closing=closing))
            case "other":
                return (yield from self._other(held, name.lower(), char, closing=closing))
        self._emit(held)
        return char

    def _kind(self, name: str) -> Literal["tag", "thought", "other", "text"]:
        lower = name.lower()
        if lower in self._tags:
            return "tag"
        if not name[:1].isalpha() or len(name) > LONGEST_NAME or name.endswith(":"):
            return "text"
        words = PARTS.findall(HUMP.sub(" ", name).lower())
        if any(word in THOUGHTS or word in self._hidden for word in words):
            return "thought" if words[0] not in ("http", "https", "mailto") else "text"
        return "text" if lower in HTML else "other"

    def _unfinished(self, kind: str, name: str) -> bool:
        """Does the answer break off in what could have become a mark that is ours, or a thought's?"""
        known = (*self._tags, *THOUGHTS)
        return kind != "thought" and any(one.startswith(name.lower()) for one in known)

    def _rest_of_tag(self, held: str, name: str, char: str, *, closing: bool) -> Reader:
        """A tag of ours up to its last bracket. One that closes what is spoken closes it without one, too."""
        while char and char not in OPENERS and char not in CLOSERS and len(held) < LONGEST:
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
        while char and char not in OPENERS and char not in CLOSERS and char != "\n" and len(held) < LONGEST:
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
            return (yield from self._labelled(held, name.lower(), char))
        if char != "]" or name.lower() not in BRACKETED | self._hidden:
            cut_off = not char and any(one.startswith(name.lower()) for one in BRACKETED | self._hidden)
            if not cut_off:
                self._emit(held)
            return char
        held += char
        char = yield
        if char and char in "([:" and not closing:
            self._emit(held)
            return char
        self._emit(Mark(kind="thought", name=f"[{name.lower()}]", raw=held, closing=closing))
        return char

    def _label(self, char: str) -> Reader:
        """A line that begins with the name of one of our tags, as a heading or before a colon."""
        held, name = "", ""
        while char and char in DECORATION and len(held) < MOST_DECORATION:
            held += char
            char = yield
        decorated = bool(held.strip())
        while char.isalpha() and any(tag.startswith((name + char).lower()) for tag in self._tags):
            name += char
            char = yield
        held += name
        if name.lower() in self._tags:
            after = ""
            while char and char in "*_) \t" and len(after) < MOST_DECORATION:
                after += char
                char = yield
            held += after
            colon = bool(char) and char in COLONS
            if colon:
                return (yield from self._labelled(held, name.lower(), char))
            if decorated and (char in "\n" or ")" in after):
                self._emit(Mark(kind="label", name=name.lower(), raw=held))
                return char
        if not held:
            held = char
            char = yield
        self._emit(held)
        return char

    def _labelled(self, held: str, name: str, char: str) -> Reader:
        """The colon of a label, and what closes its emphasis."""
        held += char
        char = yield
        while char and char in "*_)" and len(held) < LONGEST_NAME:
            held += char
            char = yield
        self._emit(Mark(kind="label", name=name, raw=held))
        return char


class Code:
    """Knows what stands in code: there, marks that are not ours are text.

    Whether backticks begin code is known when they are closed, in the same line. A mark that comes before
    that is kept back with all that follows it.
    """

    def __init__(self) -> None:
        self.at_start = True
        """Does a line begin here?"""
        self._span = 0
        """How many backticks are open in this line; -1: they were never closed, and count no more."""
        self._begins = ""
        """The fence that this line may begin."""
        self._fence = ""
        """The fence that is open."""
        self._ends = False
        """Does this line close it, if nothing else stands in it?"""
        self._kept: list[Token] = []
        self._size = 0

    @property
    def within_line(self) -> bool:
        """Can nothing happen before the next special character?"""
        return not (self.at_start or self._ends)

    @property
    def may_label(self) -> bool:
        """Would a heading be one here?"""
        return self.at_start and not self._fence

    def take(self, token: Token) -> list[Token]:
        """What is decided, now that this came."""
        if isinstance(token, str):
            return [one for piece in token.splitlines(keepends=True) for one in self._text(piece)]
        if token.kind == "tag":  # another section: whatever was open in this one is closed
            return [*self.give_up(), *self._real(token)]
        if self._fence and not self._ends:
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
            self._begins = self._fence = ""
            self._span = -1
        return kept

    def _real(self, mark: Mark) -> list[Token]:
        """A mark that counts: what comes after it is another text."""
        self.at_start = mark.kind in ("tag", "thought", "token")
        if self.at_start:
            self._span, self._begins, self._fence, self._ends = 0, "", "", False
        return [mark]

    def _text(self, text: str) -> list[Token]:
        if text.strip():
            self._ends = False
            self.at_start = self.at_start and not text.strip("> \t")
        if not text.endswith("\n"):
            return self._keep(text) if self._kept else [text]
        given = self.give_up()
        if self._ends:
            self._fence = ""
        elif self._begins and not self._fence:
            self._fence = self._begins
        self._span, self._begins, self._ends, self.at_start = 0, "", False, True
        return [*given, text]

    def _keep(self, token: Token) -> list[Token]:
        self._kept.append(token)
        self._size += len(token if isinstance(token, str) else token.raw)
        return self.give_up() if self._size > LONGEST else []
