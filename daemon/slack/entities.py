"""Entities of HTML in what is said: outside of code each reaches people as the character that it stands for.

Pure. What becomes a character makes no code and no row of a table.
"""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5

from daemon.slack.code_spans import mask_code

ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,31});")
BEGUN = re.compile(r"&(?:#(?:[0-9]{0,7}|[xX][0-9a-fA-F]{0,6})|[A-Za-z][A-Za-z0-9]{0,31})?$")
"""At the end of a growing text: what may become one."""
LONGEST = 40
"""Characters at the end of a text in which that is looked for."""
UNKNOWN = "\ufffd"
"""The character that stands for a number of none."""
MARKUP = "`|"
"""Characters that would make code, or a row of a table: they are escaped."""


def decode_entities(text: str) -> str:
    """The whole text, with characters in place of entities."""
    if "&" not in text:
        return text
    return _decoded(text, mask_code(text).text, len(text))


def decode_settled_entities(text: str) -> str:
    """As much of a growing text as is settled: what `decoded` makes of any continuation begins with it."""
    if "&" not in text:
        return text
    known = mask_code(text)
    upto = len(text)
    begun = BEGUN.search(known.maybe, max(len(text) - LONGEST, 0))
    if begun:
        upto = begun.start()
    unsure = [found.start() for found in ENTITY.finditer(known.maybe) if found.end() > known.unsure]
    return _decoded(text, known.text, min([upto, *unsure]))


def _decoded(text: str, shown: str, upto: int) -> str:
    """The text up to there; `shown` is the same without its code."""
    parts, last = [], 0
    for found in ENTITY.finditer(shown, 0, upto):
        parts += [text[last : found.start()], _character(found[0])]
        last = found.end()
    return "".join([*parts, text[last:upto]])


def _character(entity: str) -> str:
    """The character that this stands for; one that nobody knows stays as it is."""
    if entity[1] != "#" and entity[1:] not in html5:
        return entity
    character = unescape(entity)
    if character == UNKNOWN or not (character.isprintable() or character.isspace()):
        return entity
    if character in MARKUP:
        return f"\\{character}"
    return character
