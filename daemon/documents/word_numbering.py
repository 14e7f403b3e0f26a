"""The numbers of a Word document's lists: Word stores how they are counted, never the numbers themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from daemon.documents.word_styles import ParagraphStyles, W, is_switched_on, word_value

LEVELS = 9
DEEPEST_LINK = 5
"""So many styles of numbering may lead from one to the next."""
PLACE = re.compile(r"%([1-9])")
LETTERS = 26
ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
MOST_REPEATED = 5_000
"""A number above it is written in digits: letters and Roman numbers become as long as they are large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLevel:
    """How a level of a list is counted and written: `text` has "%1" in place of the first level's number."""

    start: int
    format: str
    text: str
    restart: int | None
    legal: bool
    style: str


@dataclass(slots=True, kw_only=True)
class ListCount:
    """The state of one list: its last number of each level, and the levels that an override has restarted."""

    numbers: dict[int, int] = field(default_factory=dict)
    overridden: set[tuple[str, int]] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListInstance:
    """A use of a list: its definition, and what it overrides by level."""

    abstract: str
    starts: Mapping[int, int]
    levels: Mapping[int, ListLevel]


class ListNumbering:
    """Counts the items of a document's lists, in the order in which it is asked for them."""

    def __init__(self, root: etree._Element | None, styles: ParagraphStyles) -> None:
        self._nums: dict[str, ListInstance] = {}
        self._abstract: dict[str, Mapping[int, ListLevel]] = {}
        self._counts: dict[str, ListCount] = {}
        if root is None:
            return
        for num in root.iterchildren(f"{W}num"):
            self._nums[num.get(f"{W}numId", "")] = _num(num)
        definitions = {one.get(f"{W}abstractNumId", ""): one for one in root.iterchildren(f"{W}abstractNum")}
        for name in definitions:
            self._abstract[name] = _levels(self._linked(name, definitions, styles))

    def has(self, num: str) -> bool:
        """True if the document defines this list."""
        return num in self._nums

    def level_of_style(self, num: str, style: str) -> int:
        """Return the level of a list that belongs to a paragraph style; the first one if none does."""
        if num not in self._nums:
            return 0
        levels = self._abstract.get(self._nums[num].abstract, {})
        return next((level for level, how in levels.items() if how.style == style), 0)

    def next_number(self, num: str, level: int) -> str:
        """Count an item and return its number as it is written; "-" for a bullet, empty if it has no mark."""
        use = self._nums[num]
        levels = {**self._abstract.get(use.abstract, {}), **use.levels}
        how = levels.get(level)
        if how is None:
            return "-"
        count = self._counts.setdefault(use.abstract, ListCount())
        if level in use.starts and (num, level) not in count.overridden:
            count.overridden.add((num, level))
            count.numbers[level] = use.starts[level]
        elif level in count.numbers:
            count.numbers[level] += 1
        else:
            count.numbers[level] = how.start
        for deeper in [one for one in count.numbers if one > level]:
            restart = levels[deeper].restart if deeper in levels else None
            if restart is None or (restart and level < restart):
                del count.numbers[deeper]
        return _write_number(how, levels, count.numbers)

    def _linked(
        self, name: str, definitions: Mapping[str, etree._Element], styles: ParagraphStyles
    ) -> etree._Element | None:
        """Return the definition that has the levels: it may be named by a style of numbering."""
        found = definitions.get(name)
        for _ in range(DEEPEST_LINK):
            link = None if found is None else found.find(f"{W}numStyleLink")
            if link is None:
                break
            use = self._nums.get(styles.number_of(word_value(link)))
            found = None if use is None else definitions.get(use.abstract)
        return found


def _num(element: etree._Element) -> ListInstance:
    starts: dict[int, int] = {}
    levels: dict[int, ListLevel] = {}
    for override in element.iterchildren(f"{W}lvlOverride"):
        level = _number(override.get(f"{W}ilvl"), 0)
        start = override.find(f"{W}startOverride")
        if start is not None:
            starts[level] = _number(word_value(start), 1)
        own = override.find(f"{W}lvl")
        if own is not None:
            levels[level] = _level(own)
    abstract = element.find(f"{W}abstractNumId")
    return ListInstance(
        abstract="" if abstract is None else word_value(abstract), starts=starts, levels=levels
    )


def _levels(element: etree._Element | None) -> Mapping[int, ListLevel]:
    if element is None:
        return {}
    found = [one for one in element.iterchildren(f"{W}lvl") if one.get(f"{W}ilvl")]
    return {_number(one.get(f"{W}ilvl"), 0): _level(one) for one in found}


def _level(element: etree._Element) -> ListLevel:
    said = {str(one.tag): word_value(one) for one in element.iterchildren(tag=etree.Element)}
    restart = said.get(f"{W}lvlRestart")
    legal = element.find(f"{W}isLgl")
    return ListLevel(
        start=_number(said.get(f"{W}start"), 1),
        format=said.get(f"{W}numFmt", "decimal"),
        text=said.get(f"{W}lvlText", ""),
        restart=None if restart is None else _number(restart, 0),
        legal=legal is not None and is_switched_on(legal),
        style=said.get(f"{W}pStyle", ""),
    )


def _number(text: str | None, default: int) -> int:
    """Return a number of the file; the default if it is none, or one that no list reaches."""
    if text is None or not re.fullmatch(r"-?\d{1,9}", text):
        return default
    return int(text)


def _write_number(how: ListLevel, levels: Mapping[int, ListLevel], numbers: Mapping[int, int]) -> str:
    if how.format == "bullet":
        return "-"

    def put(place: re.Match[str]) -> str:
        level = int(place[1]) - 1
        of = levels.get(level, how)
        return format_number(numbers.get(level, of.start), "decimal" if how.legal else of.format)

    return PLACE.sub(put, how.text).strip()


def format_number(number: int, form: str) -> str:
    """Write a number in a format of Word; in digits if the format is not known here."""
    if form == "none":
        return ""
    if form == "decimalZero":
        return f"{number:02}"
    if not 0 < number <= MOST_REPEATED:
        return str(number)
    if form in ("lowerLetter", "upperLetter"):
        repeated, letter = divmod(number - 1, LETTERS)
        return _with_case(chr(ord("a") + letter) * (repeated + 1), form)
    if form in ("lowerRoman", "upperRoman"):
        return _with_case(_roman(number), form)
    return str(number)


def _with_case(text: str, form: str) -> str:
    return text.upper() if form.startswith("upper") else text


def _roman(number: int) -> str:
    written = ""
    for worth, letters in ROMAN:
        times, number = divmod(number, worth)
        written += letters * times
    return written
