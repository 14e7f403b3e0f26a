"""Sections that a model writes as headings: `**Aside:**`, `## Say`. Read by character, for scanner.py."""

from __future__ import annotations

from collections.abc import Collection, Generator

from daemon.mind.marks import Mark, Token

COLONS = ":\uff1a"
DECORATION = "*_#(-• \t"
"""What may stand before the name: `**Aside:**`, `## Aside`, `(aside: …)`."""
CLOSES = "*_)"
MOST = 16
"""Characters of decoration at the most."""
Heading = Generator[None, str, tuple[Token, str]]
"""Returns what was read, and the first character that is no part of it."""


def heading(char: str, tags: Collection[str]) -> Heading:
    """A line that begins with the name of one of these tags, decorated or before a colon, or another text."""
    held, name = "", ""
    while char and char in DECORATION and len(held) < MOST:
        held += char
        char = yield
    decorated = bool(held.strip())
    while char.isalpha() and any(tag.startswith((name + char).lower()) for tag in tags):
        name += char
        char = yield
    held += name
    if name.lower() not in tags:
        return (held, char) if held else (char, (yield))
    after = ""
    while char and char in f"{CLOSES} \t" and len(after) < MOST:
        after += char
        char = yield
    if char and char in COLONS:
        return (yield from label(held + after, name.lower(), char))
    if decorated and (char in "\n" or ")" in after):
        return Mark(kind="label", name=name.lower(), raw=held + after), char
    return held + after, char


def label(held: str, name: str, char: str) -> Heading:
    """The colon behind the name, and what closes its emphasis."""
    held += char
    char = yield
    while char and char in CLOSES and len(held) < MOST * 4:
        held += char
        char = yield
    return Mark(kind="label", name=name, raw=held), char
