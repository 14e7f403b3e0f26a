"""How texts go into a full text index, and words become a question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from daemon.engine.writable import normalized

TOKENS = "tokenize = 'porter unicode61 remove_diacritics 2'"
MOST_TERMS = 32
"""Terms of one question; more would only make it slow."""
PREFIX = 4
"""A word of so many letters also finds the words that begin with it."""
UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
"""Letters of scripts that put no spaces between words: each is a word to us."""
GAP = "\u200b"


def as_indexed(text: str) -> str:
    """A text as it goes into an index: nothing that SQLite refuses, and a gap after each unspaced letter."""
    if text.isascii():
        return text
    text = normalized("NFC", text).encode(errors="replace").decode()
    return UNSPACED.sub(rf"\g<0>{GAP}", text)


def from_indexed(text: str) -> str:
    """An indexed text as it was."""
    return text.replace(GAP, "")


def fts_query(query: str) -> str:
    """Words as a question in FTS5's syntax, for any of them; empty if there are none.

    Whatever stands between letters and digits means nothing in it: no text is a wrong question.
    """
    terms: dict[str, None] = {}
    for word in as_indexed(query).split():
        terms |= dict.fromkeys(_terms(word))
    return " OR ".join([*terms][:MOST_TERMS])


def _terms(word: str) -> Iterator[str]:
    """A word, or each two neighbours of one that has several parts (daemon/ism.py)."""
    parts = [part for part in re.findall(r"\w+", word) if part.strip("_")]
    if len(parts) == 1:
        yield f'"{parts[0]}"' + "*" * (len(parts[0]) >= PREFIX)
    for first, second in pairwise(parts):
        yield f'"{first} {second}"'
