"""The texts of the tests: a copy of the defaults, which stays as it is; or what the owner wrote."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.source import ROOT

WORDS = Path(__file__).parent / "words"


OWNED = ("prompts", "playbooks", "actions")


def ours(to: Path) -> Path:
    """The project's own texts and actions, in a folder where a test may write."""
    for part in OWNED:
        shutil.copytree(ROOT / part, to / part)
    shutil.copy(ROOT / "soul.md", to)
    return to


def copied(to: Path) -> Path:
    """These texts in a folder where a test may write; returns it."""
    for folder, files in held().items():
        into = to / folder
        into.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (into / name).write_bytes(text)
    return to


@functools.cache
def held() -> Mapping[str, Mapping[str, bytes]]:
    """These texts by folder and name, read once for all tests of a process."""
    folders: dict[str, dict[str, bytes]] = {}
    for path in sorted(WORDS.rglob("*")):
        if path.is_file():
            inside = folders.setdefault(str(path.parent.relative_to(WORDS)), {})
            inside[path.name] = path.read_bytes()
    return folders
