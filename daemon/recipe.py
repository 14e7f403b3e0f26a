"""What the owner lets the soul run: a program with its arguments, in which the soul may fill slots.

A value becomes a part of one argument, and no shell ever sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}")
"""A slot within an argument; other braces stand for themselves."""
END_OF_OPTIONS = "--"
LONGEST = 2_000
"""Characters of one value."""
MOST_SLOTS = 10
SHELLS = frozenset({"sh", "ash", "bash", "dash", "fish", "ksh", "zsh"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One program: `argv` as the owner wrote it, slots and all. The first of it is never a slot."""

    argv: tuple[str, ...]

    @property
    def program(self) -> str:
        """An absolute path, or a name that is looked for on PATH."""
        return self.argv[0]

    @property
    def slots(self) -> tuple[str, ...]:
        """The names of its slots, in order, each once."""
        return tuple(dict.fromkeys(SLOT.findall(" ".join(self.argv))))

    @property
    def scripted(self) -> bool:
        """Does a slot stand in a text that a shell would run?"""
        for place, argument in enumerate(self.argv[:-1]):
            shells = SHELLS & {before.rpartition("/")[2] for before in self.argv[:place]}
            if shells and re.fullmatch("-[a-z]*c", argument) and SLOT.search(self.argv[place + 1]):
                return True
        return False

    def fill(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """The arguments with these values in their slots. Raises ValueError: what is wrong, for the soul."""
        self._check(values)
        filled = []
        for place, argument in enumerate(self.argv):
            text = SLOT.sub(lambda found: values[found[1]], argument)
            begins = SLOT.match(argument)
            if begins and text.startswith("-") and END_OF_OPTIONS not in self.argv[:place]:
                raise ValueError(f"{begins[1]} may not begin with -, it would be taken for an option")
            filled.append(text)
        return tuple(filled)

    def _check(self, values: Mapping[str, str]) -> None:
        named = ", ".join(self.slots) or "none"
        for slot in values.keys() - {*self.slots}:
            raise ValueError(f"there is no slot {slot!r:.60}; slots: {named}")
        for slot in self.slots:
            value = values.get(slot, "")
            if not value:
                raise ValueError(f"{slot} needs a value; slots: {named}")
            if len(value) > LONGEST:
                raise ValueError(f"{slot} is longer than {LONGEST:,} characters")
            if "\0" in value or not _encodable(value):
                raise ValueError(f"{slot} holds a character that no argument can hold")


def _encodable(text: str) -> bool:
    """Half a surrogate pair has no bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Recipes(Mapping[str, Recipe]):
    """All that may be run, by name. It never changes."""

    def __init__(self, named: Mapping[str, Recipe] | None = None) -> None:
        self._named = dict(named or {})

    def __getitem__(self, name: str) -> Recipe:
        return self._named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def __hash__(self) -> int:
        # No mapping can be hashed by itself, and the settings, a dataclass, take no such default.
        return hash(frozenset(self._named.items()))
