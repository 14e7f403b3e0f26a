"""The tags in a whole text that count as tags: not those in code, in a quotation or in a comment.

Not for speech, which is read while it comes, and where our tags count in code, too.

Text as XML has it: the characters that it knows, entities, the attributes of a tag.

Tags of an answer in open thought that were meant to be carried out, and that nobody knows.

Words hold brackets for many reasons (HTML, generics, placeholders, another model's thoughts). A tag is an
attempt if it stands where a payload counts, and is spelt nearly like a known one or set apart like one.
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


AMPERSAND = re.compile(r"&(?:(?:lt|gt|amp|quot|apos);|#(?P<decimal>\d{1,7});|#x(?P<hex>[0-9A-Fa-f]{1,6});)?")


PARSER = etree.XMLParser(
    resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
)
"""It recovers from undeclared prefixes alone: all else that it has to mend in a tag is a fault."""


def decode_xml_entities(text: str) -> str:
    """The text with its entities decoded; what is none stays as it was written."""
    if "&" not in text:
        return text
    return etree.fromstring(f"<words>{_escaped(text)}</words>", PARSER).text or ""


def _escaped(text: str) -> str:
    """Only entities that XML knows by itself are left; all else is text."""
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
    """Is this the number of a character that XML knows?"""
    return 0 < number < 0x110000 and not NOT_XML.match(chr(number))


def parse_attributes(name: str, written: str) -> Mapping[str, str] | None:
    """The attributes of this tag, by their names without a prefix; declarations of namespaces are none.

    None: it cannot be read.
    """
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
"""Share of two names that must agree, of 1, for one to be meant by the other."""


SHORTEST = 6
"""Letters of a name that may be misspelt: too many words are like a shorter one."""


INDENTED = re.compile(r" {4}|\t")
"""What begins a line of code in Markdown."""


MOST_MISSPELT = 10
"""Misspelt tags of one answer that are told: each is a line in the next prompt."""


MOST_NAMES = 100
"""Unknown names of one answer that are compared with the known ones."""


LEADS = ".:!?\u2026"
"""What ends the words that lead to a tag."""


LONGEST_BULLET = 40
"""Characters of a line before a tag that are looked at."""


DIVIDERS = re.compile(r"[-_.]")


ATTRIBUTE = re.compile(r"\s[\w.:-]+\s*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class MisspeltTag:
    """A tag of an unknown name: where it begins, and the nearest known name; empty where none is near."""

    position: int
    tag: str
    nearest: str


def nearest_tag_name(name: str, known: Collection[str]) -> str:
    """Return the known name with the same letters, or nearly the same; an empty text where there is none."""
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
    """The misspelt tags of one answer.

    `known` are the names that can be written in it, `silent` those that ask for nothing and are no mistake.
    """

    def __init__(self, markup: MarkupTags, known: Collection[str], silent: Collection[str]) -> None:
        self._markup = markup
        self._text = markup.text
        self._known = known
        self._silent = {name.casefold() for name in silent}
        ours = [tag for tag in markup.tags if tag.name in known]
        self._begins = {tag.start for tag in ours if tag.kind != "close"}
        self._ends = {tag.end for tag in ours}
        """The ends of known tags, and of the attempts that were found."""
        self._nearest: dict[str, str] = {}

    def find_among(self, strangers: Sequence[MarkupTag]) -> Iterator[MisspeltTag]:
        """Yield those of these unknown tags that were meant to be carried out, each name once.

        The strangers stand where a known tag would count, in order.
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
        """Return `other` for a name that may be misspelt, `thought` for a tag of another model's thoughts."""
        if name.casefold() in self._silent:
            return "text"
        return tag_kind(name, (), PRIVATE_TAGS)

    def _nearest_to(self, name: str) -> str:
        if name not in self._nearest and len(self._nearest) < MOST_NAMES:
            self._nearest[name] = nearest_tag_name(name, self._known)
        return self._nearest.get(name, "")

    def _is_attempt(self, tag: MarkupTag, end: int, near: str, inside_foreign: int) -> bool:
        """Return True for an element or a lonely tag that is written as a payload is.

        A name that is like a known one needs less of that. `inside_foreign`: where the markup ends in which
        the tag stands, such as a table of HTML; a name that is like none is a part of that.
        """
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
        """Return True where only a known tag, white space or the bullet of a list stands before it in its
        line."""
        if self._before(tag.start) in self._ends:
            return True
        line = self._line(tag)
        return line >= 0 and BEFORE_FENCE.fullmatch(self._text, line, tag.start) is not None

    def _is_indented_code(self, tag: MarkupTag) -> bool:
        line = self._line(tag)
        is_indented = line >= 0 and INDENTED.match(self._text, line, tag.start) is not None
        return is_indented and self._before(tag.start) not in self._ends

    def _line(self, tag: MarkupTag) -> int:
        """Return the beginning of the tag's line; -1 if it is too far before the tag for a bullet."""
        before = self._before(tag.start)
        start = self._text.rfind("\n", max(before - LONGEST_BULLET, 0), tag.start) + 1
        if start == 0 and before > LONGEST_BULLET:
            return -1
        return start

    def _is_led_to(self, tag: MarkupTag, end: int) -> bool:
        """Return True where a sentence or a colon ends before it, and nothing stands after it in its line."""
        before = self._before(tag.start)
        return before > 0 and self._text[before - 1] in LEADS and self._ends_line(end)

    def _is_lonely(self, tag: MarkupTag) -> bool:
        """Return True where a known tag stands beside it, and no word behind it."""
        after = self._after(tag.end)
        if after in self._begins:
            return True
        return self._ends_line(tag.end) and self._before(tag.start) in self._ends

    def _ends_line(self, place: int) -> bool:
        after = self._after(place)
        return after == len(self._text) or "\n" in self._text[place:after]

    def _before(self, place: int) -> int:
        """Return the beginning of the white space that ends there."""
        while place and self._text[place - 1].isspace():
            place -= 1
        return place

    def _after(self, place: int) -> int:
        """Return the end of the white space that begins there."""
        while place < len(self._text) and self._text[place].isspace():
            place += 1
        return place

    def _end(self, tag: MarkupTag) -> int:
        """Return the end of the element if it is closed, else of its tag."""
        closing = self._markup.closed_by.get(tag.start)
        if closing is None:
            return tag.end
        return closing.end
