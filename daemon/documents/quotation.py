"""Whether a passage holds what is quoted of it, as a reader would say: word by word, not letter by letter."""

from __future__ import annotations

import re
from collections.abc import Iterator

from daemon.engine.writable import normalized

LONGEST_QUOTE = 4_000
MOST_TRIES = 200
"""So often the words may be found in the midst of others before they are given up."""

QUOTES = re.compile('["\u201c-\u201f\u00ab\u00bb\u2033\u2018-\u201b`\u00b4\u2032]')
DASHES = re.compile("[\u2010-\u2015\u2212]")
UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
"""Quotation marks are alike, dashes are alike, and what cannot be seen is not there."""
BROKEN = re.compile(r"(?<=[^\W\d_])-\s*(?=[^\W\d_])")
"""A hyphen within a word: it may stand there for the end of a line alone."""
ELLIPSIS = re.compile(r"\[\s?\.{3,}\s?\]|\(\s?\.{3,}\s?\)|\.{3,}")
EDGES = " .,;:!?"
"""What may stand at the edge of a quotation for the sake of the sentence around it."""
LETTER = re.compile(r"[^\W_]")
"""A letter or a digit."""
INSIDE = re.compile(r"[.,']?\d")


def normal_form(text: str) -> str:
    """A text as it is compared: case, white space, and the shape of quotes and dashes do not matter.

    Nor does how a bracket is written: whoever quotes was shown `&lt;` where a tag begins.
    """
    text = text.replace("&lt;", "<")
    text = QUOTES.sub("'", text)
    text = DASHES.sub("-", text)
    text = UNSEEN.sub("", text)
    text = normalized("NFKC", text).casefold()
    return " ".join(BROKEN.sub("", text).split())


def passage_holds(passage: str, quote: str, begins: int) -> bool:
    """Whether a normal passage holds all parts of this quotation, in order, each beginning and ending a word.
    The first one has to begin before the letter `begins`.

    What quotes no letter and no digit quotes nothing.
    """
    parts = _parts(quote)
    at = 0
    for number, part in enumerate(parts):
        at = _find_whole(passage, part, at)
        if at < 0 or (number == 0 and at - len(part) >= begins):
            return False
    return bool(parts)


def quotation_starts(passage: str, quote: str) -> Iterator[int]:
    """Find each place of a normal passage where the first part of this quotation begins, up to a bound."""
    at = 0
    for first in _parts(quote)[:1]:
        for _ in range(MOST_TRIES):
            end = _find_whole(passage, first, at)
            if end < 0:
                return
            yield end - len(first)
            at = end


def _parts(quote: str) -> list[str]:
    """Return the parts of a quotation between its ellipses, as compared; none if it quotes nothing."""
    if len(quote) > LONGEST_QUOTE:
        return []
    parts = [part.strip(EDGES) for part in ELLIPSIS.split(normal_form(quote))]
    return [part for part in parts if LETTER.search(part)]


def _find_whole(passage: str, part: str, at: int) -> int:
    """Where the first whole occurrence of this part ends, from there on; -1 where there is none."""
    for _ in range(MOST_TRIES):
        found = passage.find(part, at)
        if found < 0:
            return -1
        end = found + len(part)
        if not (_cuts_word_before(passage, found) or _cuts_word_after(passage, end)):
            return end
        at = found + 1
    return -1


def _cuts_word_before(passage: str, at: int) -> bool:
    """Whether a word or a number goes on before its first letter here. Scripts without case part no words."""
    first = passage[at]
    before = passage[max(at - 2, 0) : at]
    if first.isdigit():
        return bool(re.search(r"\d[.,']?$", before))
    return first.islower() and before[-1:].islower()


def _cuts_word_after(passage: str, end: int) -> bool:
    """Whether a word or a number goes on after its last letter here."""
    if passage[end - 1].isdigit():
        return INSIDE.match(passage, end) is not None
    return passage[end - 1].islower() and passage[end : end + 1].islower()
