"""The JSON objects that stand in a part of an answer: one a line, over several lines, in a list, in fences.

What is no such object is told with its place, and reading goes on at the next line that can begin one.
After an object that is broken, lines that are indented deeper are taken for parts of it.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from daemon.engine.writable import storable_text, storable_value

DEEPEST = 20
"""Objects and lists within each other, at the most."""
MOST_DIGITS = 18
LONGEST_NUMBER = 40
SPACE = re.compile(r"(?:[\s,]++|\[\s*+\])*+")
"""White space, commas and empty lists."""
BULLET = re.compile(r"(?:[-*+•]|\d{1,9}[.)])[^\S\n]++")
FENCE = re.compile(r"(?:`{3,}+|~{3,}+)[^\n]*+")
OPENING = re.compile(rf"^([^\S\n]*+)(?:{BULLET.pattern})?+[{{\[]", re.MULTILINE)
"""The beginning of a line that can begin an object or a list of them; its indentation is a group."""
AFTER = re.compile(r"[^\S\n]*+(?:,[^\S\n]*+)?+(?=[\n{\]]|\Z)")
"""What may follow an object on its line."""
TOKEN = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|[{}\[\]]')
"""A string, or a bracket."""
EXPECTED = (
    'write each command as one JSON object on a line of its own: {"cmd_id": "1", "type": "…", "args": {…}}'
)
DEEP = f"It is nested too deeply: at most {DEEPEST} objects and lists may stand within each other"
UNENDED = "This object is not closed before the next one or the end: a bracket is missing in it"
UNCLOSED_LIST = "The list is not closed: what stands in it was read; write `]` at its end"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundObject:
    """An object as it stands in the answer, from `position` to `upto`."""

    value: Mapping[str, Any]
    position: int
    upto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableJson:
    """What could not be read, from `begin` to `upto`: where it went wrong, and what to write instead.

    `repaired`: it was read nevertheless.
    """

    begin: int
    position: int
    upto: int
    what: str
    repaired: bool = False

    @property
    def left_out(self) -> int:
        """How many characters were not read."""
        if self.repaired:
            return 0
        return self.upto - self.begin


def unreadable_at(begin: int, upto: int, what: str, *, repaired: bool = False) -> UnreadableJson:
    """What went wrong at its beginning."""
    return UnreadableJson(begin=begin, position=begin, upto=upto, what=what, repaired=repaired)


class JsonObjectReader:
    """Reads objects out of one answer."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._faults: list[str] = []
        """What is wrong with the value that is being read, though it is JSON."""
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._integer,
            parse_float=self._number,
            parse_constant=self._constant,
        )

    def objects(self, start: int, end: int) -> Iterator[FoundObject | UnreadableJson]:
        """All that stands between these places, in order. It may be left at any time."""
        at = self._past_space(start, end)
        opened = -1
        while at < end:
            mark = self._decoration(at, end)
            if mark:
                at = mark
            elif self._text[at] == "]":
                at += 1
                opened = -1
            elif self._text[at] == "[" and opened < 0:
                opened = at
                at += 1
            else:
                one = self._one(at, end)
                yield one
                at = one.upto
                if isinstance(one, UnreadableJson):
                    opened = -1
            at = self._past_space(at, end)
        if opened >= 0:
            yield unreadable_at(opened, end, UNCLOSED_LIST, repaired=True)

    def _past_space(self, at: int, end: int) -> int:
        found = SPACE.match(self._text, at, end)
        assert found  # it may be empty
        return found.end()

    def _decoration(self, at: int, end: int) -> int:
        """Where a bullet or the line of a fence that stands here ends; 0 where there is none."""
        mark = BULLET.match(self._text, at, end) or FENCE.match(self._text, at, end)
        if mark is None or self._text[self._line(at) : at].strip():
            return 0
        return mark.end()

    def _one(self, at: int, end: int) -> FoundObject | UnreadableJson:
        """What stands here: an object, or what is wrong."""
        if self._text[at] != "{":
            return self._unread(at, at, f"This is no command: {EXPECTED}", end)
        self._faults = []
        try:
            value, upto = self._decoder.raw_decode(self._text, at)
        except RecursionError:
            return self._unread(at, at, DEEP, end)
        except json.JSONDecodeError as error:
            if self._is_deep(at, error.pos):
                return self._unread(at, at, DEEP, end)
            if error.pos >= end or self._begins_line(at, error.pos, end):
                return unreadable_at(at, self._next(at, min(error.pos, end), end), UNENDED)
            return self._unread(at, error.pos, _not_json(error.msg), end)
        if self._is_deep(at, upto):
            return self._unread(at, at, DEEP, end)
        if not AFTER.match(self._text, upto, end):
            said = f"Something else follows the object on its line, so it was not read: {EXPECTED}"
            return self._unread(at, upto, said, end)
        if self._faults:
            return unreadable_at(at, upto, self._faults[0])
        return FoundObject(value=storable_value(value), position=at, upto=upto)

    def _unread(self, at: int, wrong: int, what: str, end: int) -> UnreadableJson:
        """It went wrong there. Reading goes on at a line that may begin an object or a list.

        After an object that is broken no line counts that is indented deeper: it may be a part of it.
        """
        upto = self._next(at, max(wrong, at + 1), end)
        return UnreadableJson(begin=at, position=wrong, upto=upto, what=what)

    def _begins_line(self, at: int, wrong: int, end: int) -> bool:
        """Went it wrong where a line begins that can begin an object, below this place?"""
        line = self._line(wrong)
        if line <= at or self._text[line:wrong].strip():
            return False
        return OPENING.match(self._text, line, end) is not None

    def _next(self, at: int, wrong: int, end: int) -> int:
        if self._begins_line(at, wrong, end):
            wrong = self._line(wrong)
        deepest = end
        if self._text[at] == "{":
            deepest = self._indentation(at)
        for opening in OPENING.finditer(self._text, wrong, end):
            if len(opening[1]) <= deepest:
                return opening.start()
        return end

    def _indentation(self, at: int) -> int:
        line = self._text[self._line(at) : at]
        return len(line) - len(line.lstrip())

    def _line(self, at: int) -> int:
        """Where the line of this place begins."""
        return self._text.rfind("\n", 0, at) + 1

    def _is_deep(self, start: int, end: int) -> bool:
        """Do more brackets than may be stand within each other, in what is JSON so far?"""
        depth = 0
        for token in TOKEN.finditer(self._text, start, end):
            if token[0] in "{[":
                depth += 1
            elif token[0] in "}]":
                depth -= 1
            if depth > DEEPEST:
                return True
        return False

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            names = [name for name, _ in pairs]
            [(twice, _)] = Counter(names).most_common(1)
            self._faults.append(f"The key {quoted_start(twice)} stands twice in one object: write it once")
        return value

    def _integer(self, digits: str) -> int:
        if len(digits) > MOST_DIGITS:
            self._faults.append(f"A number has {len(digits)} digits: at most {MOST_DIGITS} are read")
            return 0
        return int(digits)

    def _number(self, digits: str) -> float:
        number = math.inf
        if len(digits) <= LONGEST_NUMBER:
            number = float(digits)
        if not math.isfinite(number):
            self._faults.append("A number is too large or too long: write a usual one")
            return 0.0
        return number

    def _constant(self, name: str) -> None:
        self._faults.append(f"{name} is no number in JSON: write a number, or leave it out")


def quoted_start(text: str, most: int = 40) -> str:
    """The beginning of a text in quotation marks, on one line: it can be shown anywhere."""
    cut = text
    if len(text) > most:
        cut = f"{text[:most]}…"
    return json.dumps(storable_text(cut), ensure_ascii=not cut.isprintable())


def _not_json(message: str) -> str:
    """What is wrong, as the parser says it, and what to write."""
    if message.startswith("Invalid control character"):
        return "This is not JSON: in a string, a line break is written as \\n and a tabulator as \\t"
    if message.startswith("Unterminated string"):
        return "This is not JSON: the string that begins here does not end on its line"
    return f"This is not JSON here ({message.rstrip(' at')}): {EXPECTED}"
