"""The texts of the tests: words that stay as they are (tests/words/), or the owner's.

tests/words/README.md says which of the two a test is given.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from daemon.app.discovery import PROCESSES, prompt_catalogue
from daemon.mind.steps import STEP_TEXTS
from tests.source import ROOT

WORDS = Path(__file__).parent / "words"
PAGE = WORDS / "README.md"
"""Says what the folder is for; no text of the soul."""

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


CATALOGUE = prompt_catalogue(PROCESSES.values(), STEP_TEXTS)
"""Every text that the soul needs."""


@functools.cache
def whole() -> Path:
    """All of them, in a folder where nobody writes."""
    folder = tempfile.mkdtemp(prefix="words-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return copied(Path(folder))


@functools.cache
def held() -> Mapping[str, Mapping[str, bytes]]:
    """These texts by folder and name, read once for all tests of a process."""
    folders: dict[str, dict[str, bytes]] = {}
    for name in sorted({*CATALOGUE.texts, *kept()}):
        path = path_of(name)
        if path.exists():
            file = Path(f"{name}.md")
            folders.setdefault(str(file.parent), {})[file.name] = path.read_bytes()
    return folders


def kept() -> Collection[str]:
    """The names of the texts in tests/words/."""
    paths = (path.relative_to(WORDS).with_suffix("") for path in WORDS.rglob("*.md") if path != PAGE)
    return {path.as_posix() for path in paths}


def path_of(name: str, words: Path = WORDS) -> Path:
    """Return the file of a text: the one in `words` if there is one and today's code can use it."""
    file = words / f"{name}.md"
    if file.exists() and CATALOGUE.fault(name, file.read_text(encoding="utf-8")) is None:
        return file
    return ROOT / f"{name}.md"
