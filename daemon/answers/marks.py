"""Marks in model answers: section tags, foreign thoughts, code, and headings (`**Aside:**`, `## Say`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass
from typing import Literal

from daemon.prompts.elements import HTML_TAGS

LONGEST_NAME = 64


PARTS = re.compile(r"[a-z]+")


HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


THOUGHT_TAGS = frozenset(
    """
    think thinks thinking thinker thought thoughts reasoning reflect reflects reflecting reflection
    reflections ponder pondering ponderings musing musings contemplate contemplation deliberate
    deliberation rationale scratchpad monologue analysis analyzing analysing cot innervoice
    """.split()  # noqa: SIM905
)
"""Words in a tag's name by which the tag marks a thought."""


ADDRESSES = frozenset({"http", "https", "mailto"})


BRACKETED = frozenset({"think", "thinking", "thought", "thoughts", "reasoning"})
"""Names that mark a thought in brackets, as in `[think]`."""


LINKED = frozenset({"thought", "thoughts", "reasoning", "Thought", "Thoughts", "Reasoning"})
"""Names in brackets that may be the text of a link: `[Thoughts](https://…)`."""


Kind = Literal["tag", "stray", "thought", "token", "label", "other"]


TagKind = Literal["tag", "stray", "thought", "other", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMark:
    """A mark in an answer; `raw` is its text.

    `tag`: one of ours. `thought`: another model's tag. `token`: a control token. `label`: a heading named
    like our tags. `stray`: our tag without the suffix of others: text, unless it ends a section by mistake.
    `broken`: without its last bracket. `exact`: with the suffix.
    """

    kind: Kind
    name: str
    raw: str
    closing: bool = False
    broken: bool = False
    exact: bool = False

    @property
    def begins_section(self) -> bool:
        return self.kind in ("tag", "stray") and not self.closing


Token = str | AnswerMark


OPENERS = frozenset("<◁\uff1c\ufe64")


CLOSERS = frozenset(">▷\uff1e\ufe65")


WIDE_OPENERS = frozenset("\uff1c\ufe64")


SLASHES = frozenset("/\uff0f")


INVISIBLE_CHARACTERS = frozenset(
    "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
)
"""Invisible characters that may be inside tag names."""


ESCAPED_OPENERS = ("&lt;", "&#60;", "&#x3c;", "&amp;lt;", "\\u003c", "\\x3c", "\\<")


ESCAPED_CLOSERS = ("&gt;", "&#62;", "&#x3e;", "&amp;gt;", "\\u003e", "\\x3e", "\\>")
"""Escaped closing brackets of tags, in lower case."""


def begins_any_name(text: str, names: Collection[str]) -> bool:
    return any(name.startswith(text) for name in names)


def tag_kind(name: str, tags: Collection[str], hidden: Collection[str]) -> TagKind:
    """Classify a tag by its name, also with a namespace or as a compound."""
    lower = name.lower()
    if lower in tags:
        return "tag"
    if not name[:1].isalpha() or len(name) > LONGEST_NAME or name.endswith(":"):
        return "text"
    words = PARTS.findall(HUMP.sub(" ", name).lower())
    if any(word in THOUGHT_TAGS or word in hidden or word.removesuffix("s") in hidden for word in words):
        if words[0] in ADDRESSES:
            return "text"
        return "thought"
    if lower in HTML_TAGS:
        return "text"
    return "other"


MOST_HELD_BACK = 1_000
"""Most characters held back; a longer text is no mark."""


class ShownTags:
    """Section tags in text that may be code; one of them ends the section if the text is none."""

    def __init__(self) -> None:
        self._section = ""
        self._depth = 0
        self._ends_here = False

    def add(self, mark: AnswerMark, section: str) -> None:
        self._section = section
        self._ends_here = False
        if mark.name == section and not mark.closing:
            self._depth += 1
        elif mark.name == section and self._depth:
            self._depth -= 1
        elif mark.name == section:
            self._ends_here = True

    def add_text(self, text: str) -> None:
        if text.strip():
            self._ends_here = False

    def prove_end(self, mark: AnswerMark) -> bool:
        """True if another section or a thought directly follows the closing tag."""
        begins = mark.kind in ("tag", "stray", "thought", "token") and not mark.closing
        return self._ends_here and begins and mark.name != self._section

    def end_in(self, block: Sequence[Token]) -> int:
        """Return the index of the tag that ends a section outside code; else the block's length."""
        depth = 0
        for place, token in enumerate(block):
            if isinstance(token, str) or token.kind != "tag":
                continue
            if token.name != self._section:
                if token.exact and not depth:
                    return place
            elif not token.closing:
                depth += 1
            elif depth:
                depth -= 1
            else:
                return place
        return len(block)


class CodeTracker:
    """Tracker of code in an answer, where foreign marks are text.

    Our tags are text there, except in private sections and except suffixed ones that open a section outside
    speech. A code span or block counts once closed: until then, marks in speech and the text after them are
    held back. Code also ends with the speech if a mark follows directly.
    """

    def __init__(self, hidden: Collection[str] = ()) -> None:
        self._hidden = hidden
        self.is_marked = False
        """True after a suffixed tag: later ones without suffix are text."""
        self._section = ""
        self._within = 0
        self.at_start = True
        """True at the start of a line."""
        self._span = 0
        """Number of open backticks in the line; -1 if never closed."""
        self._begins = ""
        """Fence that this line may open."""
        self._fence = ""
        self._torn = False
        """True once a mark counted in the fence; then all do."""
        self._ends = False
        """True if this line closes the fence, unless text follows."""
        self._kept: list[Token] = []
        """Tokens in a possible code span."""
        self._must_close = False
        """True if the span must end now: its last tag would open a private section."""
        self._size = 0
        self._block: list[Token] = []
        """Tokens in a possible code block, from our first tag on."""
        self._shown = ShownTags()

    @property
    def within_line(self) -> bool:
        return not (self.at_start or self._ends)

    @property
    def shows_block(self) -> bool:
        """True in a code block that makes our tags text."""
        return self._in_block and not self._within

    @property
    def may_be_span(self) -> bool:
        """True in a possible code span that makes our tags text."""
        return self._span > 0 and not self._within

    @property
    def hides(self) -> bool:
        return self._within > 0

    @property
    def _in_block(self) -> bool:
        return bool(self._fence) and not (self._ends or self._torn)

    @property
    def may_label(self) -> bool:
        return self.at_start and not self._fence

    def take(self, token: Token) -> list[Token]:
        """Process a token; return the tokens decided now."""
        before: list[Token] = []
        if self._block and isinstance(token, AnswerMark):
            if self._ends:
                before = self._close_block()
            elif self._shown.prove_end(token):
                before = self._tear_block()
        elif self._kept and isinstance(token, AnswerMark) and self._shown.prove_end(token):
            before = self.give_up()
        return [*before, *self._through(self._decided(token))]

    def end(self) -> list[Token]:
        """Return the held-back tokens; they are code only if a block ends here."""
        if not self._block:
            return self.give_up()
        if self._ends:
            return self._close_block()
        return self._tear_block()

    def _decided(self, token: Token) -> list[Token]:
        if isinstance(token, str):
            decided: list[Token] = []
            for line in token.splitlines(keepends=True):
                decided += self._text(line)
            return decided
        if token.kind == "tag":
            return self._tag(token)
        if self._in_block:
            return self._text(token.raw)
        if token.kind == "stray":
            self.at_start = False
            return self._after_kept(token) if self._span <= 0 else self._keep(token)
        if self._span <= 0:
            return self._real(token)
        if token.kind == "other":
            return self._text(token.raw)
        return self._keep(token)

    def _tag(self, mark: AnswerMark) -> list[Token]:
        is_private = mark.name in self._hidden
        if self._within and not (is_private and mark.closing and self._within == 1):
            return self._within_private(mark, is_private=is_private)
        begins_private = mark.exact and is_private and not mark.closing
        counts = bool(self._within) or (mark.exact and not self._section)
        if self._in_block and not (counts or begins_private):
            if not self._section or is_private:
                return self._text(mark.raw)
            return self._hold(mark)
        if self._span > 0 and not counts:
            self._shown.add(mark, self._section)
            decided = self._keep(mark)
            self._must_close = begins_private
            return decided
        # A new section ends all code.
        return [*self.give_up(), *self._real(mark)]

    def _within_private(self, mark: AnswerMark, *, is_private: bool) -> list[Token]:
        self.at_start = False
        if not is_private:
            return self._after_kept(mark)
        self._enter_or_leave(mark)
        return [*self.give_up(), mark]

    def _hold(self, mark: AnswerMark) -> list[Token]:
        self.at_start = False
        self._shown.add(mark, self._section)
        if not self._block:
            self._block = [mark]
            return []
        return [mark]

    def _through(self, decided: list[Token]) -> list[Token]:
        if not self._block:
            return decided
        for token in decided:
            if isinstance(token, str):
                self._shown.add_text(token)
            self._block.append(token)
        if self._fence:
            return []
        return self._close_block()

    def _close_block(self) -> list[Token]:
        block, self._block = self._block, []
        self._shown = ShownTags()
        self._fence = ""
        self._ends = False
        return [*map(_raw, block)]

    def _tear_block(self) -> list[Token]:
        block, self._block = self._block, []
        end = self._shown.end_in(block)
        self._shown = ShownTags()
        self._fence = ""
        decided: list[Token] = [*map(_raw, block[:end])]
        for token in block[end:]:
            decided += [token] if isinstance(token, str) else self._real(token)
        return decided

    def fence(self, run: str) -> list[Token]:
        return self._through(self._fenced(run))

    def _fenced(self, run: str) -> list[Token]:
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
        if not self._kept:
            return []
        self._fence = self._begins
        self._torn = bool(self._begins)
        self._begins = ""
        decided: list[Token] = []
        for token in self._given_back():
            if isinstance(token, AnswerMark) and token.kind == "tag":
                decided += self._real(token)
            else:
                decided.append(token)
        self._span = -1
        return decided

    def _real(self, mark: AnswerMark) -> list[Token]:
        public = mark.kind == "tag" and mark.name not in self._hidden
        if mark.exact and not self._within:
            self.is_marked = True
        if public and not self._within:
            self._begin_or_end(mark)
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

    def _begin_or_end(self, mark: AnswerMark) -> None:
        if not mark.closing:
            self._section = mark.name
        elif mark.name == self._section:
            self._section = ""

    def _enter_or_leave(self, mark: AnswerMark) -> None:
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

    def _after_kept(self, token: Token) -> list[Token]:
        if not self._kept:
            return [token]
        if isinstance(token, str):
            self._shown.add_text(token)
        return self._keep(token)

    def _keep(self, token: Token) -> list[Token]:
        self._kept.append(token)
        self._size += len(_raw(token))
        if self._size <= MOST_HELD_BACK and not self._must_close:
            return []
        return self.give_up()

    def _given_back(self) -> list[Token]:
        kept, self._kept = self._kept, []
        self._size = 0
        self._must_close = False
        if not self._block:
            self._shown = ShownTags()
        return kept


def _raw(token: Token) -> str:
    if isinstance(token, str):
        return token
    return token.raw


COLONS = frozenset(":\uff1a")


DECORATION = frozenset("*_#(-• \t")
"""Characters before a heading's name: `**Aside:**`, `## Aside`, `(aside: …)`."""


CLOSES = frozenset("*_)")


AFTER = CLOSES | frozenset(" \t")
"""Characters between a heading's name and its colon."""


MOST = 16


Heading = Generator[None, str, tuple[Token, str]]
"""Matcher that takes characters, and returns a token and the first unused character."""


def match_heading(char: str, tags: Collection[str]) -> Heading:
    """Match a heading with decoration or a colon; return text if it is none."""
    held = ""
    while char in DECORATION and len(held) < MOST:
        held += char
        char = yield
    decorated = bool(held.strip())
    name = ""
    while char.isalpha() and begins_any_name((name + char).lower(), tags):
        name += char
        char = yield
    held += name
    if name.lower() in tags:
        return (yield from _after_name(held, name.lower(), char, decorated=decorated))
    if held:
        return held, char
    return char, (yield)


def _after_name(held: str, name: str, char: str, *, decorated: bool) -> Heading:
    after = ""
    while char in AFTER and len(after) < MOST:
        after += char
        char = yield
    held += after
    if char in COLONS:
        return (yield from match_label(held, name, char))
    if decorated and (char in ("\n", "") or ")" in after):
        return AnswerMark(kind="label", name=name, raw=held), char
    return held, char


def match_label(held: str, name: str, char: str) -> Heading:
    held += char
    char = yield
    while char in CLOSES and len(held) < MOST * 4:
        held += char
        char = yield
    return AnswerMark(kind="label", name=name, raw=held), char
