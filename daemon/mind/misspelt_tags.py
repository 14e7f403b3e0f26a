"""Tags of an answer in open thought that were meant to be carried out, and that nobody knows.

Words hold brackets for many reasons (HTML, generics, placeholders, another model's thoughts). A tag is an
attempt if it stands where a payload counts, and is spelt nearly like a known one or set apart like one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from daemon.mind.marks import tag_kind
from daemon.mind.markup import BEFORE_FENCE, MarkupTag, MarkupTags
from daemon.mind.tags import PRIVATE_TAGS

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
