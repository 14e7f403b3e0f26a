"""The tags in a whole text that count as tags: not those in code, in a quotation or in a comment.

Not for speech, which is read while it comes, and where our tags count in code, too.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

TOKEN = re.compile(
    r"""
    (?P<quoted>^[ ]{0,3}>[^\n]*)
  | (?P<run>`+|~{3,})
  | (?P<comment><!--)
  | (?P<cdata><!\[CDATA\[)
  | (?P<doctype><!DOCTYPE\b)
  | <(?P<slash>/)?(?P<name>[^\W\d][\w.-]*+)(?=[\s/>]|\Z)
    (?P<attributes>(?:[^<>"'] | "(?:[^"<]|<(?![^\W\d]|[/!]))*+" | '(?:[^'<]|<(?![^\W\d]|[/!]))*+')*+)
    (?P<end>>)?
    """,
    re.MULTILINE | re.VERBOSE,
)
"""In an attribute a `<` begins no tag, so that a quote which is never closed ends at the next one."""
BEFORE_FENCE = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?")
"""What may stand in a line before the fence of a block of code: white space, the bullet of a list."""
OPENS_BLOCK = re.compile(r"[^`<\n]*$", re.MULTILINE)
"""The rest of a line that opens one with backticks."""
CLOSES_BLOCK = re.compile(r"^[ \t]*(?P<run>`{3,}|~{3,})[ \t]*(?=$|</)", re.MULTILINE)
LAST_TAG = re.compile(r"</(?P<name>[^\W\d][\w.-]*)\s*>[ \t]*$")

SECTION_ENDS = {"comment": "-->", "cdata": "]]>"}

Kind = Literal["open", "close", "empty", "broken", "comment", "cdata", "doctype", "unclosed code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkupTag:
    """One tag from `start` up to `end`. `broken`: a name of ours, but no tag that can be read.

    A comment and a CDATA section are one each, too; `unclosed code` is a block of code that holds all the
    rest of the text.
    """

    kind: Kind
    start: int
    end: int
    name: str = ""

    @property
    def begins(self) -> bool:
        """Does an element begin here that can be read?"""
        return self.kind in ("open", "empty")


class MarkupTags:
    """The tags of a text, in order, and which closes which: the last of its name that is open.

    `known` are the names of ours: a broken tag of another name is text.
    """

    def __init__(self, text: str, known: Collection[str]) -> None:
        self.text = text
        self.tags: list[MarkupTag] = []
        self.closed_by: dict[int, MarkupTag] = {}
        """By where the opening tag begins."""
        self._known = known
        self._open: dict[str, list[int]] = {}
        self._never: set[str] = set()
        """Whether comments or CDATA sections are not closed any more."""
        self._unclosed: set[str] = set()
        """Fences that begin so are not closed any more."""
        self._fences = list(CLOSES_BLOCK.finditer(text))
        self._spans = _spans(text)
        self._read()
        self._starts = [tag.start for tag in self.tags]

    def between(self, start: int, end: int) -> Iterator[MarkupTag]:
        """The tags that begin there."""
        first = bisect_left(self._starts, start)
        last = bisect_left(self._starts, end)
        for place in range(first, last):
            yield self.tags[place]

    def _read(self) -> None:
        position = 0
        token = TOKEN.search(self.text)
        while token:
            match token.lastgroup:
                case "quoted":
                    position = self._quotation(token)
                case "run":
                    position = self._code(token, position)
                case "comment" | "cdata" as kind:
                    position = self._section(token, kind)
                case "doctype":
                    position = self._add("doctype", token.start(), token.end())
                case _:
                    position = self._tag(token)
            token = TOKEN.search(self.text, position)

    def _tag(self, token: re.Match[str]) -> int:
        name = token["name"]
        kind: Kind = "open"
        if token["slash"]:
            kind = "close"
        elif not token["end"]:
            kind = "broken"
        elif token["attributes"].endswith("/"):
            kind = "empty"
        if token["end"] or name in self._known:
            self._add(kind, token.start(), token.end(), name)
        return token.end()

    def _add(self, kind: Kind, start: int, end: int, name: str = "") -> int:
        """Returns where the text goes on."""
        tag = MarkupTag(kind=kind, start=start, end=end, name=name)
        self.tags.append(tag)
        opened = self._open.setdefault(name, [])
        if kind in ("open", "broken"):
            opened.append(start)
        elif kind == "close" and opened:
            self.closed_by[opened.pop()] = tag
        return end

    def _section(self, token: re.Match[str], kind: Literal["comment", "cdata"]) -> int:
        """Past a comment or a CDATA section; one that is never closed is text."""
        closing = SECTION_ENDS[kind]
        found = -1
        if kind not in self._never:
            found = self.text.find(closing, token.end())
        if found < 0:
            self._never.add(kind)
            return token.end()
        return self._add(kind, token.start(), found + len(closing))

    def _quotation(self, token: re.Match[str]) -> int:
        """Past a line that is quoted; a tag at its end may close what began before it."""
        last = LAST_TAG.search(token[0])
        if not last or not self._open.get(last["name"]) or f"<{last['name']}" in token[0]:
            return token.end()
        return self._add("close", token.start() + last.start(), token.end(), last["name"])

    def _code(self, token: re.Match[str], after: int) -> int:
        """Past what is code. `after` is where the token before this one ended."""
        run = token["run"]
        start, end = token.span()
        line = max(self.text.rfind("\n", after, start) + 1, after)
        at_start = line == 0 or self.text[line - 1] in "\n>"
        alone = run[0] == "~" or OPENS_BLOCK.match(self.text, end)
        if len(run) >= 3 and at_start and alone and BEFORE_FENCE.fullmatch(self.text, line, start):
            return self._block(run, start, end)
        return self._spans.get(start, end)

    def _block(self, run: str, start: int, end: int) -> int:
        """Past a block of code. One that is never closed holds all the rest, but nothing within a payload."""
        if not run.startswith(tuple(self._unclosed)):
            following = bisect_left(self._fences, end, key=re.Match.start)
            for place in range(following, len(self._fences)):
                closing = self._fences[place]
                if closing["run"].startswith(run):
                    return closing.end()
            self._unclosed.add(run)
        if any(self._open.get(name) for name in self._known):
            return end
        return self._add("unclosed code", start, len(self.text))


def _spans(text: str) -> dict[int, int]:
    """Where code within a line ends, by where it begins: at the next run of as many backticks."""
    ends: dict[int, int] = {}
    following: dict[int, int] = {}
    for found in reversed(list(re.finditer(r"`+|\n", text))):
        if found[0] == "\n":
            following.clear()
            continue
        size = len(found[0])
        if size in following:
            ends[found.start()] = following[size]
        following[size] = found.end()
    return ends
