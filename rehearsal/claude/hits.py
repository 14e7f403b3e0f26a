"""What a search brought: lines of files with their places, and which of them the question is about.

The script knows no word's meaning: a line fits that holds more of the words that were looked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rehearsal.claude.wanted import WORD, forms, looked_for

LINE = re.compile(r"^(?P<path>\S+?):(?P<number>\d+): (?P<text>.*)$", re.M)
NAMED = re.compile(r"[-*]\s+(?P<name>[^:.]{2,40}): (?P<about>.+)")
"""A line of a list that says what it is about."""
AVOIDED = re.compile(r"\b(?:allergic to|cannot eat|can.t eat|never eat|do(?:n.t| not) eat)\s+([\w-]+)", re.I)
MOST = 4
"""Lines that are told of one search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One line that was found. `name` is what it is about, where it says so; `text` the rest."""

    path: str
    number: int
    name: str
    text: str

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{self.path}:{self.number}"

    @property
    def words(self) -> str:
        """What it says."""
        return f"{self.name}: {self.text}" if self.name else self.text

    def fits(self, wanted: Sequence[str]) -> int:
        """How many of these words it holds; one that it is named after counts twice."""
        named = {word.lower() for word in WORD.findall(self.name)}
        there = {word.lower() for word in WORD.findall(self.words)}
        return sum(_holds(there, word) + _holds(named, word) for word in wanted)


def hits(found: str) -> list[Hit]:
    """The lines of a search's result, but for headings."""
    every = []
    for line in LINE.finditer(found):
        text = line["text"].strip()
        named = NAMED.fullmatch(text)
        if text.startswith("#"):
            continue
        every.append(
            Hit(
                path=line["path"],
                number=int(line["number"]),
                name=named["name"] if named else "",
                text=named["about"] if named else text.lstrip("-* "),
            )
        )
    return every


def best(found: str, question: str) -> list[Hit]:
    """The lines of one file, in its order, that fit the question at least half as well as the best one."""
    wanted = list(looked_for(question))
    ranked = sorted(hits(found), key=lambda hit: hit.fits(wanted), reverse=True)
    if not ranked:
        return []
    first = ranked[0]
    enough = max(1, first.fits(wanted) / 2)
    among = [hit for hit in ranked if hit.path == first.path and hit.fits(wanted) >= enough]
    return sorted(among[:MOST], key=lambda hit: hit.number)


def avoided(told: Sequence[str]) -> list[str]:
    """What people said that they cannot eat."""
    return [word.lower() for words in told for word in AVOIDED.findall(words)]


def holds(hit: Hit, word: str) -> bool:
    """Whether this word stands in the line, in singular or plural."""
    return _holds({one.lower() for one in WORD.findall(hit.words)}, word)


def _holds(there: set[str], word: str) -> bool:
    return any(form in there for form in forms(word))
