"""Conversations of the benchmark `prompts`, files in conversations/."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "conversations"
NAME = "@soul"
"""Placeholder for the soul's mention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Message. `by` is a person's name; `channel` is empty for a direct message.

    `may_be_silent`: it needs no answer.
    """

    by: str
    text: str
    channel: str = ""
    may_be_silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    name: str
    about: str
    said: Sequence[Line]


def conversations(folder: Path = FOLDER) -> Sequence[Conversation]:
    """Return a folder's conversations. Raises ValueError for an invalid file."""
    return [_read(path) for path in sorted(folder.glob("*.toml"))]


def _read(path: Path) -> Conversation:
    try:
        found = tomllib.loads(path.read_text())
        said = [Line(**line) for line in found["said"]]
        return Conversation(name=path.stem, about=found["about"], said=said)
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path.name} is not a valid conversation: {error}") from error
