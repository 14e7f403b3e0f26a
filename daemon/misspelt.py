"""Keys that nobody reads: what stands in `.env` and is no setting, and what in the environment nearly is one.

Silence would be the fault: who misspells the budget believes that there is one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from io import StringIO

from dotenv.parser import parse_stream

ALIKE = 0.8
"""How much of two names must agree, of 1, for one to be meant by the other."""
PLAIN = re.compile("[A-Z][A-Z0-9_]{0,40}", re.IGNORECASE)
"""How the name of a setting looks; what looks otherwise may be a secret on the wrong side of its `=`."""

WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownSetting:
    """A key that is no setting: where it stands, and which setting was meant; empty where none is near."""

    name: str
    place: str
    meant: str = ""

    def __str__(self) -> str:
        if self.meant:
            return f"{self.name} in {self.place} is read by nobody: is it {self.meant}?"
        named = self.name if PLAIN.fullmatch(self.name) else "A line that is no name"
        return f"{named} in {self.place} is read by nobody; .env.example lists what is."


def unknown_settings(
    written: Iterable[str], environ: Iterable[str], known: Collection[str]
) -> Iterator[UnknownSetting]:
    """Every key of `.env` that is not known, and of the environment those that were clearly meant for us."""
    there = {*environ}
    for name in written:
        if name not in known and name not in there:
            yield UnknownSetting(name=name, place=".env", meant=closest_name(name, known))
    families = tuple(f"{one.partition('_')[0]}_" for one in known if "_" in one)
    for name in sorted(there):
        meant = closest_name(name, known)
        if meant and name not in known and name.upper().startswith(families):
            yield UnknownSetting(name=name, place="the environment", meant=meant)


def malformed_lines(text: str, known: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each line of `.env` that is neither `NAME=value` nor a comment.

    Of the line no more is shown than a known name at its beginning: the rest may be a secret.
    """
    for line in parse_stream(StringIO(text)):
        if line.error:
            name = next(iter(WORD.findall(line.original.string)), "")
            of = f" ({name})" if name in known else ""
            yield (
                f"Line {line.original.line}{of} of .env sets nothing. Write NAME=value, and close each quote,"
                " or begin it with #."
            )


def closest_name(name: str, known: Collection[str]) -> str:
    """The known name that was meant, if one is near enough."""
    return next(iter(get_close_matches(name.upper(), known, 1, ALIKE)), "")
