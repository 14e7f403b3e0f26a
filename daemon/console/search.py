"""Words that are looked for in what happened: as patterns for SQLite, and in an entry, to be sure.

Each word may stand anywhere, also within another one, in capitals or not. What a model saw is not looked
through: there everything stands again and again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from daemon.console.events import brief
from daemon.engine.event import Entry, Event
from daemon.kinds import ModelCall

MOST = 8
"""Words that are looked for at once."""
LONGEST = 200
"""Characters of all of them."""
SEEN = ("trailing", "wording", "texts", "saw")
"""The fields of a model call that say what it saw."""


def words_in(asked: str) -> Sequence[str]:
    """What is looked for."""
    return asked[:LONGEST].casefold().split()[:MOST]


def pattern(word: str) -> str:
    """What each body with this word is like, as json.dumps writes it; others may be, too."""
    return f"%{''.join(_like(letter) for letter in word)}%"


def _like(letter: str) -> str:
    """One letter, as it may be written: SQLite itself only knows the capitals of ASCII."""
    if letter.isascii():
        return "".join(f"~{sign}" if sign in "~%_" else sign for sign in json.dumps(letter)[1:-1])
    forms = {json.dumps(form)[1:-1] for form in (letter, letter.lower(), letter.upper(), letter.title())}
    if len({len(form) for form in forms}) > 1:
        return "%"
    return "".join(signs[0] if len(set(signs)) == 1 else "_" for signs in zip(*forms, strict=True))


def holds(entry: Entry[Event], words: Sequence[str]) -> bool:
    """Do all these words stand in it?"""
    body: Mapping[str, Any] = brief(entry)["body"]
    if isinstance(entry.event, ModelCall):
        body = {name: value for name, value in body.items() if name not in SEEN}
    text = "\n".join(_texts(body)).casefold()
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
