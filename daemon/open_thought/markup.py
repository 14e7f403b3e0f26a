"""Tags in an answer of open thought, outside of code, quotations and comments; misspelt tags.

An unknown tag is misspelt only if it stands where a payload may, and resembles a known name or is set apart
like a payload.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from lxml import etree

from daemon.answers.marks import tag_kind
from daemon.prompts.elements import NOT_XML, PRIVATE_TAGS

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
"""`<` begins no tag within attributes, so that an unclosed quotation mark ends at the next tag."""


BEFORE_FENCE = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?")


OPENS_BLOCK = re.compile(r"[^`<\n]*$", re.MULTILINE)


CLOSES_BLOCK = re.compile(r"^[ \t]*(?P<run>`{3,}|~{3,})[ \t]*(?=$|</)", re.MULTILINE)


LAST_TAG = re.compile(r"</(?P<name>[^\W\d][\w.-]*)\s*>[ \t]*$")


SECTION_ENDS = {"comment": "-->", "cdata": "]]>"}


Kind = Literal["open", "close", "empty", "broken", "comment", "cdata", "doctype", "unclosed code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkupTag:
    """A tag, a comment or a CDATA section.

    `broken`: a known name in a tag that cannot be read. `unclosed code`: a code block without an end.
    """

    kind: Kind
    start: int
    end: int
    name: str = ""

    @property
    def begins(self) -> bool:
        return self.kind in ("open", "empty")


class MarkupTags:
    """Tags of a text; a closing tag closes the last open tag of the same name.

    Broken tags count only if their name is `known`.
    """

    def __init__(self, text: str, known: Collection[str]) -> None:
        self.text = text
        self.tags: list[MarkupTag] = []
        self.closed_by: dict[int, MarkupTag] = {}
        """Closing tag by the position of the opening tag."""
        self._known = known
        self._open: dict[str, list[int]] = {}
        self._never: set[str] = set()
        self._unclosed: set[str] = set()
        self._fences = list(CLOSES_BLOCK.finditer(text))
        self._spans = _spans(text)
        self._read()
        self._starts = [tag.start for tag in self.tags]

    def between(self, start: int, end: int) -> Iterator[MarkupTag]:
        """Yield the tags that begin between two positions."""
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
        tag = MarkupTag(kind=kind, start=start, end=end, name=name)
        self.tags.append(tag)
        opened = self._open.setdefault(name, [])
        if kind in ("open", "broken"):
            opened.append(start)
        elif kind == "close" and opened:
            self.closed_by[opened.pop()] = tag
        return end

    def _section(self, token: re.Match[str], kind: Literal["comment", "cdata"]) -> int:
        closing = SECTION_ENDS[kind]
        found = -1
        if kind not in self._never:
            found = self.text.find(closing, token.end())
        if found < 0:
            self._never.add(kind)
            return token.end()
        return self._add(kind, token.start(), found + len(closing))

    def _quotation(self, token: re.Match[str]) -> int:
        """Skip a quoted line, except for a tag at its end that closes an element."""
        last = LAST_TAG.search(token[0])
        if not last or not self._open.get(last["name"]) or f"<{last['name']}" in token[0]:
            return token.end()
        return self._add("close", token.start() + last.start(), token.end(), last["name"])

    def _code(self, token: re.Match[str], after: int) -> int:
        run = token["run"]
        start, end = token.span()
        line = max(self.text.rfind("\n", after, start) + 1, after)
        at_start = line == 0 or self.text[line - 1] in "\n>"
        alone = run[0] == "~" or OPENS_BLOCK.match(self.text, end)
        if len(run) >= 3 and at_start and alone and BEFORE_FENCE.fullmatch(self.text, line, start):
            return self._block(run, start, end)
        return self._spans.get(start, end)

    def _block(self, run: str, start: int, end: int) -> int:
        """Skip a code block. One without an end takes the remaining text, except in a payload."""
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


AMPERSAND = re.compile(r"&(?:(?:lt|gt|amp|quot|apos);|#(?P<decimal>\d{1,7});|#x(?P<hex>[0-9A-Fa-f]{1,6});)?")


PARSER = etree.XMLParser(
    resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
)
"""Parser that tolerates only undeclared prefixes; all other errors are faults."""


def decode_xml_entities(text: str) -> str:
    """Decode XML entities; unknown ones stay as they are."""
    if "&" not in text:
        return text
    return etree.fromstring(f"<words>{_escaped(text)}</words>", PARSER).text or ""


def _escaped(text: str) -> str:
    text = AMPERSAND.sub(_entity, text)
    return text.replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def _entity(found: re.Match[str]) -> str:
    entity = found[0]
    if found["decimal"]:
        known = _is_character(int(found["decimal"]))
    elif found["hex"]:
        known = _is_character(int(found["hex"], 16))
    else:
        known = len(entity) > 1
    if known:
        return entity
    return f"&amp;{entity[1:]}"


def _is_character(number: int) -> bool:
    return 0 < number < 0x110000 and not NOT_XML.match(chr(number))


def parse_attributes(name: str, written: str) -> Mapping[str, str] | None:
    """Return the attributes without prefixes and namespaces; None if they cannot be read."""
    inside = written.removeprefix("<").removesuffix(">").removesuffix("/")
    if inside.rstrip("/") == name:
        return {}
    try:
        found = etree.fromstring(f"<{_escaped(inside)}/>", PARSER)
    except etree.XMLSyntaxError:
        return None
    if found is None or any(error.domain_name != "NAMESPACE" for error in PARSER.error_log):
        return None
    attributes = {}
    for attribute, value in found.attrib.items():
        local = str(attribute).rpartition("}")[2].rpartition(":")[2]
        attributes[local] = str(value)
    return attributes


ALIKE = 0.8
"""Least similarity, from 0 to 1, of a misspelt name to a known one."""


SHORTEST = 6
"""Least letters of a misspelt name: too many words resemble shorter names."""


INDENTED = re.compile(r" {4}|\t")
"""Beginning of an indented code block in Markdown."""


MOST_MISSPELT = 10
"""Most misspelt tags reported for an answer."""


MOST_NAMES = 100
"""Most unknown names compared in an answer."""


LEADS = ".:!?\u2026"
"""Characters at the end of a sentence that leads to a tag."""


LONGEST_BULLET = 40


DIVIDERS = re.compile(r"[-_.]")


ATTRIBUTE = re.compile(r"\s[\w.:-]+\s*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class MisspeltTag:
    """A misspelt tag, and the `nearest` known name; empty if none is near."""

    position: int
    tag: str
    nearest: str


def nearest_tag_name(name: str, known: Collection[str]) -> str:
    """Return the known name with the same or similar letters; empty if there is none."""
    by_letters = {_letters(one): one for one in known}
    mine = _letters(name)
    if mine in by_letters:
        return by_letters[mine]
    if len(mine) < SHORTEST:
        return ""
    return "".join(by_letters[one] for one in get_close_matches(mine, by_letters, 1, ALIKE))


def _letters(name: str) -> str:
    return DIVIDERS.sub("", name).casefold()


class MisspeltTagFinder:
    """Finder of misspelt tags in an answer.

    `known` are possible names, `silent` names without an effect.
    """

    def __init__(self, markup: MarkupTags, known: Collection[str], silent: Collection[str]) -> None:
        self._markup = markup
        self._text = markup.text
        self._known = known
        self._silent = {name.casefold() for name in silent}
        ours = [tag for tag in markup.tags if tag.name in known]
        self._begins = {tag.start for tag in ours if tag.kind != "close"}
        self._ends = {tag.end for tag in ours}
        self._nearest: dict[str, str] = {}

    def find_among(self, strangers: Sequence[MarkupTag]) -> Iterator[MisspeltTag]:
        """Yield the tags that were probably meant as payloads, each name once.

        `strangers` are the unknown tags where payloads may stand, in order.
        """
        told = set[str]()
        inside = inside_foreign = 0
        for tag in strangers:
            if tag.start < inside or len(told) == MOST_MISSPELT:
                continue
            kind, end = self._kind(tag.name), self._end(tag)
            near = ""
            if kind == "other":
                near = self._nearest_to(tag.name)
            if kind == "thought":
                inside = end
            elif kind == "other" and self._is_attempt(tag, end, near, inside_foreign):
                inside = end
                self._ends.add(end)
                if tag.name not in told:
                    told.add(tag.name)
                    yield MisspeltTag(position=tag.start, tag=tag.name, nearest=near)
            inside_foreign = max(inside_foreign, end)

    def _kind(self, name: str) -> str:
        if name.casefold() in self._silent:
            return "text"
        return tag_kind(name, (), PRIVATE_TAGS)

    def _nearest_to(self, name: str) -> str:
        if name not in self._nearest and len(self._nearest) < MOST_NAMES:
            self._nearest[name] = nearest_tag_name(name, self._known)
        return self._nearest.get(name, "")

    def _is_attempt(self, tag: MarkupTag, end: int, near: str, inside_foreign: int) -> bool:
        is_element = tag.kind == "empty" or end > tag.end
        if near:
            has_attributes = ATTRIBUTE.search(self._text, tag.start, tag.end) is not None
            return is_element or has_attributes or self._begins_apart(tag)
        if tag.start < inside_foreign or self._is_indented_code(tag):
            return False
        if is_element:
            is_set_apart = self._begins_apart(tag) or self._after(end) in self._begins
            return is_set_apart or self._is_led_to(tag, end)
        return self._begins_apart(tag) and self._is_lonely(tag)

    def _begins_apart(self, tag: MarkupTag) -> bool:
        if self._before(tag.start) in self._ends:
            return True
        line = self._line(tag)
        return line >= 0 and BEFORE_FENCE.fullmatch(self._text, line, tag.start) is not None

    def _is_indented_code(self, tag: MarkupTag) -> bool:
        line = self._line(tag)
        is_indented = line >= 0 and INDENTED.match(self._text, line, tag.start) is not None
        return is_indented and self._before(tag.start) not in self._ends

    def _line(self, tag: MarkupTag) -> int:
        before = self._before(tag.start)
        start = self._text.rfind("\n", max(before - LONGEST_BULLET, 0), tag.start) + 1
        if start == 0 and before > LONGEST_BULLET:
            return -1
        return start

    def _is_led_to(self, tag: MarkupTag, end: int) -> bool:
        before = self._before(tag.start)
        return before > 0 and self._text[before - 1] in LEADS and self._ends_line(end)

    def _is_lonely(self, tag: MarkupTag) -> bool:
        after = self._after(tag.end)
        if after in self._begins:
            return True
        return self._ends_line(tag.end) and self._before(tag.start) in self._ends

    def _ends_line(self, place: int) -> bool:
        after = self._after(place)
        return after == len(self._text) or "\n" in self._text[place:after]

    def _before(self, place: int) -> int:
        while place and self._text[place - 1].isspace():
            place -= 1
        return place

    def _after(self, place: int) -> int:
        while place < len(self._text) and self._text[place].isspace():
            place += 1
        return place

    def _end(self, tag: MarkupTag) -> int:
        closing = self._markup.closed_by.get(tag.start)
        if closing is None:
            return tag.end
        return closing.end
