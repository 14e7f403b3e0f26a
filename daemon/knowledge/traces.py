"""Words of somebody that stand somewhere else: in a quotation, a prompt, a result.

A text is known again by any few words of it in a row. One that is shorter than that, as it is quoted: behind
the name of whoever said it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from daemon.knowledge.index import as_indexed

FEW = 5
"""Words in a row that hardly anybody else says in this order."""
MORE = 9
"""The same of what the soul said: it says much alike."""
LETTERS = 8
"""Of a single word that stands for itself."""
WORD = re.compile(r"\w+")


class QuotationFinder:
    """The texts whose words are looked for; none of the owner's."""

    def __init__(self) -> None:
        self._rows: defaultdict[int, set[tuple[str, ...]]] = defaultdict(set)
        """The rows of words that are looked for, by how many words they have."""
        self._firsts: defaultdict[int, set[str]] = defaultdict(set)
        self._owners = set[tuple[str, ...]]()

    def exempt_text(self, text: str) -> None:
        """The owner wrote this: whoever says it says nothing of anybody."""
        words = _words(text)
        for count in (FEW, MORE):
            self._owners.update(_rows(words, count))

    def add_text(self, text: str, name: str = "", few: int = FEW) -> None:
        """Look for this, too, which somebody of this name said."""
        words = _words(text)
        rows = list(_rows(words, few))
        if not rows and words and few == FEW:
            if name:
                rows.append((*_words(name), *words))
            if len(words) > 1 or len(words[0]) >= LETTERS:
                rows.append(tuple(words))
        for row in rows:
            if row not in self._owners:
                self._rows[len(row)].add(row)
                self._firsts[len(row)].add(row[0])

    def is_quoted_in(self, text: str) -> bool:
        """Does any of it stand in this text?"""
        if not self._rows:
            return False
        words = _words(text)
        for count, rows in self._rows.items():
            firsts = self._firsts[count]
            for start in range(len(words) - count + 1):
                if words[start] in firsts and tuple(words[start : start + count]) in rows:
                    return True
        return False


def _rows(words: Sequence[str], count: int) -> Iterator[tuple[str, ...]]:
    for start in range(len(words) - count + 1):
        yield tuple(words[start : start + count])


def _words(text: str) -> list[str]:
    return WORD.findall(as_indexed(text).casefold())
