"""The texts of the tests: a copy of the defaults, which stays as it is; or what the owner wrote."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from daemon.processes import PROCESSES
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
def whole() -> Path:
    """All of them, in a folder where nobody writes: a copy only where a process of the owner's needs more."""
    needed = {text for process in PROCESSES.values() for text in process.texts}
    if all((WORDS / f"{text}.md").exists() for text in needed):
        return WORDS
    folder = tempfile.mkdtemp(prefix="words-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return copied(Path(folder))


@functools.cache
def held() -> Mapping[str, Mapping[str, bytes]]:
    """These texts by folder and name, read once for all tests of a process.

    What a process of the owner's needs besides is the owner's own text.
    """
    folders: dict[str, dict[str, bytes]] = {}
    paths = {path.relative_to(WORDS): path for path in sorted(WORDS.rglob("*")) if path.is_file()}
    for process in PROCESSES.values():
        for text in process.texts:
            paths.setdefault(Path(f"{text}.md"), ROOT / f"{text}.md")
    for name, path in paths.items():
        if path.exists():
            folders.setdefault(str(name.parent), {})[name.name] = path.read_bytes()
    return folders
