"""A conversation of the benchmark `prompts`: a file in conversations/ that says who says what, where."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "conversations"
NAME = "@soul"
"""Stands for the mention of the soul in a channel, whatever it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One message: `by` is a person's name, `channel` a channel's, empty for a direct message.

    `may_be_silent`: nobody waits for an answer to it.
    """

    by: str
    text: str
    channel: str = ""
    may_be_silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Messages of one thread, in order, and what they try."""

    name: str
    about: str
    said: Sequence[Line]


def conversations(folder: Path = FOLDER) -> Sequence[Conversation]:
    """All conversations of a folder, by name. Raises ValueError for a file that is none."""
    return [_read(path) for path in sorted(folder.glob("*.toml"))]


def _read(path: Path) -> Conversation:
    try:
        found = tomllib.loads(path.read_text())
        said = [Line(**line) for line in found["said"]]
        return Conversation(name=path.stem, about=found["about"], said=said)
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path.name} is no conversation: {error}") from error
