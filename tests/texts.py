"""Prompts of the tests: fixed ones in tests/words/ (see its README.md), else the project's."""

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

OWNED = ("prompts", "playbooks", "actions")


def ours(to: Path) -> Path:
    """Copy the project's texts and actions."""
    for part in OWNED:
        shutil.copytree(ROOT / part, to / part)
    shutil.copy(ROOT / "soul.md", to)
    return to


def copied(to: Path) -> Path:
    """Copy the tests' texts."""
    for folder, files in held().items():
        into = to / folder
        into.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (into / name).write_bytes(text)
    return to


CATALOGUE = prompt_catalogue(PROCESSES.values(), STEP_TEXTS)


@functools.cache
def whole() -> Path:
    """Return a shared read-only folder of texts."""
    folder = tempfile.mkdtemp(prefix="words-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return copied(Path(folder))


@functools.cache
def held() -> Mapping[str, Mapping[str, bytes]]:
    """Return texts by folder and name."""
    folders: dict[str, dict[str, bytes]] = {}
    for name in sorted({*CATALOGUE.texts, *kept()}):
        path = path_of(name)
        if path.exists():
            file = Path(f"{name}.md")
            folders.setdefault(str(file.parent), {})[file.name] = path.read_bytes()
    return folders


def kept() -> Collection[str]:
    paths = (path.relative_to(WORDS).with_suffix("") for path in WORDS.rglob("*.md") if path != PAGE)
    return {path.as_posix() for path in paths}


def path_of(name: str, words: Path = WORDS) -> Path:
    """Return the file of a text: that in `words` if today's code can use it."""
    file = words / f"{name}.md"
    if file.exists() and CATALOGUE.fault(name, file.read_text(encoding="utf-8")) is None:
        return file
    return ROOT / f"{name}.md"
