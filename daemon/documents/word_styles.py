"""The paragraph styles of a Word document: which are headings, and which are items of a list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
HEADING = re.compile(r"heading ([1-9])")
LIST = re.compile(r"list (?:bullet|number)\b.*")
OFF = ("0", "false", "off")
BODY_LEVEL = 9
"""The outline level of what is no heading."""
DEEPEST = 20
"""So many styles may be based on one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParagraphStyle:
    """A style: its name in lower case, the style that it is based on, its outline level, its list."""

    name: str
    based_on: str
    outline: str
    number: str
    level: str


class ParagraphStyles:
    """The styles of a document by their ids. A document without styles has none."""

    def __init__(self, root: etree._Element | None) -> None:
        found = () if root is None else root.iterchildren(f"{W}style")
        self._styles = {one.get(f"{W}styleId", ""): _style(one) for one in found}

    def heading(self, style: str) -> int:
        """Return the level of a heading's style, 1 to 9; 0 if it is none."""
        for one in self._chain(style):
            named = HEADING.fullmatch(one.name)
            if named:
                return int(named[1])
            if one.name == "title":
                return 1
            if one.outline.isdecimal():
                return heading_level(one.outline)
        return 0

    def number_of(self, style: str) -> str:
        """Return the list that a style belongs to; empty if none."""
        return next((one.number for one in self._chain(style) if one.number), "")

    def level_of(self, style: str) -> str:
        """Return the level of its list that a style names; empty if it names none."""
        return next((one.level for one in self._chain(style) if one.number or one.level), "")

    def numbered(self, style: str) -> str:
        """Return the style itself, or the one that it is based on, which brings the list."""
        at = style
        for one in self._chain(style):
            if one.number:
                return at
            at = one.based_on
        return style

    def is_list(self, style: str) -> bool:
        """True if a style's name says that it is an item of a list."""
        return any(LIST.fullmatch(one.name) for one in self._chain(style))

    def _chain(self, style: str) -> Iterator[ParagraphStyle]:
        """Yield a style and those that it is based on."""
        for _ in range(DEEPEST):
            if style not in self._styles:
                return
            yield self._styles[style]
            style = self._styles[style].based_on


def heading_level(level: str) -> int:
    """Return the level of a heading by its outline level; 0 for body text."""
    if not level.isdecimal() or int(level) >= BODY_LEVEL:
        return 0
    return int(level) + 1


def word_value(element: etree._Element | None) -> str:
    """Return the `w:val` of an element; empty without one."""
    if element is None:
        return ""
    return element.get(f"{W}val", "")


def is_switched_on(element: etree._Element) -> bool:
    """True if a switch is on: it is, if nothing is said of it but that it is there."""
    return (_any_value(element) or "1").lower() not in OFF


def _any_value(element: etree._Element) -> str:
    """Return the `val` of an element in whatever namespace it stands."""
    return next((str(text) for name, text in element.items() if str(name).rpartition("}")[2] == "val"), "")


def _style(element: etree._Element) -> ParagraphStyle:
    numbered = element.find(f"{W}pPr/{W}numPr")
    number = level = None
    if numbered is not None:
        number, level = numbered.find(f"{W}numId"), numbered.find(f"{W}ilvl")
    return ParagraphStyle(
        name=word_value(element.find(f"{W}name")).lower(),
        based_on=word_value(element.find(f"{W}basedOn")),
        outline=word_value(element.find(f"{W}pPr/{W}outlineLvl")),
        number=word_value(number),
        level=word_value(level),
    )
