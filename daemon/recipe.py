"""What the owner lets the soul run: a program with its arguments, in which the soul may fill slots.

A value is one argument, and no interpreter reads it as code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from daemon.interpreters import END_OF_OPTIONS, would_run_slot

SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}")
"""A slot; other braces stand for themselves."""
LONGEST = 2_000
"""Characters of one value."""
MOST_SLOTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedProgram:
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
    def has_partial_slot(self) -> bool:
        """True if a slot is only a part of an argument."""
        return any(SLOT.search(argument) and not is_slot(argument) for argument in self.argv)

    @property
    def runs_slot(self) -> bool:
        """True if a slot would be read as code or as a command."""
        return would_run_slot(self.argv, is_slot)

    def fill(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """The arguments with these values in their slots. Raises ValueError: what is wrong, for the soul."""
        self._check(values)
        filled = []
        for place, argument in enumerate(self.argv):
            value = argument
            if is_slot(argument):
                name = argument[1:-1]
                value = values[name]
                if value.startswith("-") and END_OF_OPTIONS not in self.argv[:place]:
                    raise ValueError(f"{name} may not begin with -, it would be taken for an option")
            filled.append(value)
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
            if "\0" in value or not _is_encodable(value):
                raise ValueError(f"{slot} holds a character that no argument can hold")


def is_slot(argument: str) -> bool:
    """Return True for an argument that is a slot and nothing else."""
    return SLOT.fullmatch(argument) is not None


def _is_encodable(text: str) -> bool:
    """Half a surrogate pair has no bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class AllowedPrograms(Mapping[str, AllowedProgram]):
    """All that may be run, by name. It never changes."""

    def __init__(self, named: Mapping[str, AllowedProgram] | None = None) -> None:
        self._named = dict(named or {})

    def __getitem__(self, name: str) -> AllowedProgram:
        return self._named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def __hash__(self) -> int:
        # No mapping can be hashed by itself, and the settings, a dataclass, take no such default.
        return hash(frozenset(self._named.items()))
