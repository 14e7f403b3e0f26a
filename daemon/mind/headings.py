"""Sections that a model writes as headings: `**Aside:**`, `## Say`. Read by character."""

from __future__ import annotations

from collections.abc import Collection, Generator

from daemon.mind.marks import AnswerMark, Token, begins_any_name

COLONS = frozenset(":\uff1a")
DECORATION = frozenset("*_#(-• \t")
"""What may stand before the name: `**Aside:**`, `## Aside`, `(aside: …)`."""
CLOSES = frozenset("*_)")
AFTER = CLOSES | frozenset(" \t")
"""What may stand between the name and its colon."""
MOST = 16
"""Characters of decoration at the most."""
Heading = Generator[None, str, tuple[Token, str]]
"""Returns what was read, and the first character that is no part of it."""


def match_heading(char: str, tags: Collection[str]) -> Heading:
    """A line that begins with the name of one of these tags, decorated or before a colon, or another text."""
    held = ""
    while char in DECORATION and len(held) < MOST:
        held += char
        char = yield
    decorated = bool(held.strip())
    name = ""
    while char.isalpha() and begins_any_name((name + char).lower(), tags):
        name += char
        char = yield
    held += name
    if name.lower() in tags:
        return (yield from _after_name(held, name.lower(), char, decorated=decorated))
    if held:
        return held, char
    return char, (yield)


def _after_name(held: str, name: str, char: str, *, decorated: bool) -> Heading:
    """What follows the name decides whether it is a heading: a colon, the end of the line, a bracket."""
    after = ""
    while char in AFTER and len(after) < MOST:
        after += char
        char = yield
    held += after
    if char in COLONS:
        return (yield from match_label(held, name, char))
    if decorated and (char in ("\n", "") or ")" in after):
        return AnswerMark(kind="label", name=name, raw=held), char
    return held, char


def match_label(held: str, name: str, char: str) -> Heading:
    """The colon behind the name, and what closes its emphasis."""
    held += char
    char = yield
    while char in CLOSES and len(held) < MOST * 4:
        held += char
        char = yield
    return AnswerMark(kind="label", name=name, raw=held), char
