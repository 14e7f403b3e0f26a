"""Entries as the page shows them, and the search for words in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from daemon.engine.event import Entry, Event, entry_as_json
from daemon.kinds import ModelCall

HEAD = 2_000
"""Characters of a prompt in a stream: readings have hundreds of long ones."""


def entry_for_page(entry: Entry[Event]) -> dict[str, Any]:
    """Return the entry as JSON, a model call with only the start of its prompt.

    GET /console/calls/{seq} returns the rest.
    """
    told = entry_as_json(entry)
    if isinstance(entry.event, ModelCall):
        told["body"]["trailing"] = truncated(entry.event.trailing, HEAD)
        told["body"]["wording"] = {}
    return told


def message_lines(said: Any) -> list[str]:
    """Return a message's text and file names."""
    files = [f"📎 {file.name}" for file in getattr(said, "files", ())]
    return [said.text, *files]


def truncated(text: str, most: int) -> str:
    """Return the text, shortened to `most` characters."""
    if len(text) <= most:
        return text
    return f"{text[:most]} …"


MOST_SEARCH_WORDS = 8


LONGEST_SEARCH = 200


SEEN = ("trailing", "wording", "texts", "saw")
"""Fields of a model call with its prompt."""


MEANT = re.compile("[~%_]")
"""Special characters of patterns, to be escaped with `~`."""


def search_words(asked: str) -> Sequence[str]:
    return asked[:LONGEST_SEARCH].casefold().split()[:MOST_SEARCH_WORDS]


def like_pattern(word: str) -> str:
    """Return an SQL pattern of bodies with this word; others may match."""
    return f"%{''.join(_like(letter) for letter in word)}%"


def _like(letter: str) -> str:
    """Return the pattern of a letter in any case; SQLite folds only ASCII."""
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
    """True if the entry contains all words."""
    body = entry_for_page(entry)["body"]
    if isinstance(entry.event, ModelCall):
        for name in SEEN:
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
