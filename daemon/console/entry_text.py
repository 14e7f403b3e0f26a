"""Entries as the page shows them, and the search for words in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from daemon.engine.event import Entry, Event, entry_as_json
from daemon.kinds import ModelCall

JsonObject = Mapping[str, Any]

HEAD = 2_000
"""Characters of a prompt that a stream contains."""


def entry_for_page(entry: Entry[Event]) -> dict[str, Any]:
    """Return the entry as JSON. Of a model call's prompt, it has only the start."""
    shown = entry_as_json(entry)
    if isinstance(entry.event, ModelCall):
        shown["body"]["trailing"] = truncated(entry.event.trailing, HEAD)
        shown["body"]["wording"] = {}
    return shown


def message_lines(said: Any) -> list[str]:
    files = [f"📎 {file.name}" for file in getattr(said, "files", ())]
    return [said.text, *files]


def truncated(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]} …"


MOST_SEARCH_WORDS = 8
LONGEST_SEARCH = 200
UNSEARCHED_FIELDS = ("trailing", "wording", "texts", "saw")

PATTERN_CHARACTERS = re.compile("[~%_]")
"""Special characters of SQL patterns, escaped by `~`."""


def search_words(asked: str) -> Sequence[str]:
    return asked[:LONGEST_SEARCH].casefold().split()[:MOST_SEARCH_WORDS]


def like_pattern(word: str) -> str:
    """Return an SQL pattern that matches all bodies with this word (and some others)."""
    return f"%{''.join(_like(letter) for letter in word)}%"


def _like(letter: str) -> str:
    """Return a pattern for a letter in any case. SQLite itself folds only ASCII."""
    written = _written(letter)
    if letter.isascii():
        return PATTERN_CHARACTERS.sub(r"~\g<0>", written)
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
    """True if the texts of the entry contain all words."""
    body = entry_for_page(entry)["body"]
    if isinstance(entry.event, ModelCall):
        for name in UNSEARCHED_FIELDS:
            del body[name]
    return contains_all("\n".join(_texts(body)), words)


def contains_all(text: str, words: Iterable[str]) -> bool:
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
