"""Search hits: lines of files, ranked by how many search words they contain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from rehearsal.claude.wanted import WORD, forms, looked_for

LINE = re.compile(r"^(?P<path>\S+?):(?P<number>\d+): (?P<text>.*)$", re.M)
NAMED = re.compile(r"[-*]\s+(?P<name>[^:.]{2,40}): (?P<about>.+)")
"""Entry of a list with its name."""
AVOIDED = re.compile(r"\b(?:allergic to|cannot eat|can.t eat|never eat|do(?:n.t| not) eat)\s+([\w-]+)", re.I)
MOST = 4
"""Lines quoted per search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """Found line. `name` is its subject, if stated."""

    path: str
    number: int
    name: str = ""
    text: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.number}"

    @property
    def words(self) -> str:
        return f"{self.name}: {self.text}" if self.name else self.text

    def fits(self, wanted: Sequence[str]) -> int:
        """Score the words that it contains; its name's count twice."""
        there, named = _words(self.words), _words(self.name)
        return sum(_holds(there, word) + _holds(named, word) for word in wanted)


def hits(found: str) -> list[SearchHit]:
    """Return a search's lines without headings."""
    every = []
    for line in LINE.finditer(found):
        path, number, text = line["path"], int(line["number"]), line["text"].strip()
        named = NAMED.fullmatch(text)
        if named:
            every.append(SearchHit(path=path, number=number, name=named["name"], text=named["about"]))
        elif not text.startswith("#"):
            every.append(SearchHit(path=path, number=number, text=text.lstrip("-* ")))
    return every


def best(found: str, question: str) -> list[SearchHit]:
    """Return one file's lines with at least half the best score."""
    wanted = list(looked_for(question))

    def fitting(hit: SearchHit) -> int:
        return hit.fits(wanted)

    ranked = sorted(hits(found), key=fitting, reverse=True)
    if not ranked:
        return []
    first = ranked[0]
    enough = max(1, fitting(first) / 2)
    among = [hit for hit in ranked if hit.path == first.path and fitting(hit) >= enough]
    return sorted(among[:MOST], key=attrgetter("number"))


def avoided(told: Sequence[str]) -> list[str]:
    """Return foods that people cannot eat."""
    found: list[str] = []
    for words in told:
        found += AVOIDED.findall(words.lower())
    return found


def holds(hit: SearchHit, word: str) -> bool:
    """True if a line contains this word in singular or plural."""
    return _holds(_words(hit.words), word)


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))


def _holds(there: set[str], word: str) -> bool:
    return not there.isdisjoint(forms(word))
