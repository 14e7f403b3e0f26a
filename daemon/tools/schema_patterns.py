"""Patterns in JSON schemas of strangers, matched in bounded time.

They run in pydantic's engine, whose time is linear. But a short pattern can take a third of a second to
build: each costs work by its size, and a check has so much work for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic_core import SchemaError, SchemaValidator, core_schema

LONGEST_PATTERN = 1_000

MOST_WORK = 10_000_000
"""Most work of all patterns in one check: about a tenth of a second."""

PLAIN, ANY, UNICODE = 25, 1_500, 120_000
"""Work to build one repetition of a character, of a class of characters, of a class of Unicode."""

TOKEN = re.compile(
    r"(?P<unicode>\\[wWdDsSbB]|\\[pP](?:\{[^}]*\}|.)?)|\\.|(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\]?)"
    r"|(?P<count>\{\s*(?P<least>[0-9]*)\s*(?:,\s*(?P<most>[0-9]*)\s*)?\})|(?P<any>\.)|.",
    re.DOTALL,
)
"""Part of a pattern. A class within a class ends the outer one too early, so that a "]" may be its end."""

IN_CLASS = re.compile(r"\\[wWdDsSpP]|[^\x00-\x7f]|&&")

IGNORES_SPACES = re.compile(r"\(\?[A-Za-z-]*x")
"""Flag under which spaces and comments may stand between a part and its count."""


class PatternMatcher:
    """Matcher of the patterns of one check. Beyond MOST_WORK, it takes every text to fit."""

    def __init__(self) -> None:
        self._left = MOST_WORK
        self._built = dict[str, tuple[SchemaValidator, int] | None]()
        """Matchers with the states of their engines, by pattern; None for a pattern that is not checked."""

    def is_checked(self, pattern: str) -> bool:
        """True if texts are checked against this pattern."""
        return self._matcher(pattern) is not None

    def fits(self, pattern: str, text: str) -> bool:
        """True unless a text does not fit; a pattern that is not checked fits."""
        found = self._matcher(pattern)
        if found is None:
            return True
        matcher, states = found
        return not self._take(states * (len(text) + 1)) or matcher.isinstance_python(text)

    def _matcher(self, pattern: str) -> tuple[SchemaValidator, int] | None:
        if pattern not in self._built:
            self._built[pattern] = self._build(pattern)
        return self._built[pattern]

    def _build(self, pattern: str) -> tuple[SchemaValidator, int] | None:
        """Return a linear matcher; None for a pattern that takes too much, or needs more (look-around)."""
        if len(pattern) > LONGEST_PATTERN:
            return None
        states, work = pattern_sizes(pattern)
        if not self._take(work):
            return None
        try:
            form = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
            return SchemaValidator(form), states
        except SchemaError:
            return None

    def _take(self, work: int) -> bool:
        """Take so much work of what is left; False if too little is."""
        if work > self._left:
            return False
        self._left -= work
        return True


def pattern_sizes(pattern: str) -> tuple[int, int]:
    """Return bounds on the states of a pattern's engine, and on the work to build it."""
    if IGNORES_SPACES.search(pattern):
        return _sizes_of([*_weights(pattern)], is_nested=True)
    return _sizes_of([*_weights(pattern)])


def _weights(pattern: str) -> Iterator[tuple[str, int]]:
    """Yield each group's bracket, the factor of each count ("{"), and the work of every other part."""
    for token in TOKEN.finditer(pattern):
        if token["count"]:
            yield "{", max(int((token["least"] or "0")[:9]), int((token["most"] or "0")[:9]), 1)
        elif token["unicode"] or token[0] == "]" or IN_CLASS.search(token["class"] or ""):
            yield "", UNICODE
        elif token["class"] or token["any"]:
            yield "", ANY
        else:
            yield token[0] if token[0] in "()" else "", PLAIN


def _sizes_of(weights: list[tuple[str, int]], *, is_nested: bool = False) -> tuple[int, int]:
    """Return states and work; with `is_nested`, as if each count were one of the whole pattern."""
    groups, last = [(0, 0)], (0, 0)
    for sign, weight in weights:
        states, work = groups[-1]
        if sign == "{":
            own = groups[-1] if is_nested else last
            states, work = states + own[0] * (weight - 1), work + own[1] * (weight - 1)
            last = (own[0] * weight, own[1] * weight)
        elif sign == "(":
            groups.append((0, 0))
            continue
        elif sign == ")" and len(groups) > 1:
            last = groups.pop()
            states, work = groups[-1][0] + last[0], groups[-1][1] + last[1]
        else:
            last = (1, weight)
            states, work = states + 1, work + weight
        groups[-1] = (states, work)
    return sum(one[0] for one in groups) + 1, sum(one[1] for one in groups) + PLAIN
