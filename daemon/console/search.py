"""Words that are looked for in what happened: as patterns for SQLite, and in an entry, to be sure.

Each word may stand anywhere, also within another one, in capitals or not. What a model saw is not looked
through: there everything stands again and again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from daemon.console.event_stream import entry_for_page
from daemon.engine.event import Entry, Event
from daemon.kinds import ModelCall

MOST_SEARCH_WORDS = 8
"""Words that are looked for at once."""
LONGEST_SEARCH = 200
"""Characters of all of them."""
SEEN = ("trailing", "wording", "texts", "saw")
"""The fields of a model call that say what it saw."""
MEANT = re.compile("[~%_]")
"""Signs that mean something in a pattern, but for `~` before them."""


def search_words(asked: str) -> Sequence[str]:
    """What is looked for."""
    return asked[:LONGEST_SEARCH].casefold().split()[:MOST_SEARCH_WORDS]


def like_pattern(word: str) -> str:
    """What each body with this word is like, as json.dumps writes it; others may be, too."""
    return f"%{''.join(_like(letter) for letter in word)}%"


def _like(letter: str) -> str:
    """One letter, as it may be written: SQLite itself only knows the capitals of ASCII."""
    written = _written(letter)
    if letter.isascii():
        return MEANT.sub(r"~\g<0>", written)
    others = [_written(letter.lower()), _written(letter.upper()), _written(letter.title())]
    if any(len(other) != len(written) for other in others):
        return "%"
    like = ""
    for signs in zip(written, *others, strict=True):
        if len(set(signs)) == 1:
            like += signs[0]
        else:
            like += "_"
    return like


def _written(letter: str) -> str:
    return json.dumps(letter)[1:-1]


def entry_contains(entry: Entry[Event], words: Sequence[str]) -> bool:
    """Do all these words stand in it?"""
    body = entry_for_page(entry)["body"]
    if isinstance(entry.event, ModelCall):
        for name in SEEN:
            del body[name]
    return contains_all("\n".join(_texts(body)), words)


def contains_all(text: str, words: Iterable[str]) -> bool:
    """Do all these words stand in this text, in capitals or not?"""
    text = text.casefold()
    return all(word in text for word in words)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, Sequence):
        for one in value:
            yield from _texts(one)
