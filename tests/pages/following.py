"""Follower of a page: writes its files into a copy of the project, and runs its commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.source import ROOT

STEP = re.compile(
    r"`(?P<file>[\w./]+)`[^\n`]*:\n\n```(?!console)\w+\n(?P<text>.*?)^```$|^```console\n(?P<console>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
"""A named file block, or a block of commands with output."""
PYTHON = ".venv/bin/python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command and its expected output lines, `…` for anything."""

    line: str
    prints: tuple[str, ...]


def follow(page: str, project: Path) -> int:
    """Follow a page of docs/; return the number of commands."""
    done = 0
    for step in STEP.finditer((ROOT / "docs" / page).read_text(encoding="utf-8")):
        if step["file"]:
            (project / step["file"]).write_text(with_this_python(step["text"]), encoding="utf-8")
            continue
        for command in commands(step["console"]):
            said = printed(command, project)
            missing = [line for line in command.prints if not re.search(pattern(line), said, re.MULTILINE)]
            assert not missing, f"{page}: {command.line} printed\n{said}"
            done += 1
    return done


def commands(console: str) -> Iterator[Command]:
    for block in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        line, *prints = block.splitlines()
        yield Command(line=line, prints=tuple(prints))


def pattern(line: str) -> str:
    return "^" + ".*".join(map(re.escape, line.split("…"))) + "$"


def with_this_python(text: str) -> str:
    """Replace the interpreter of the page, which a copy of the project lacks."""
    return text.replace(PYTHON, sys.executable)


def printed(command: Command, project: Path) -> str:
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "SOUL_HOME": str(project / "var")}
    line = with_this_python(command.line)
    done = subprocess.run(
        line, shell=True, cwd=project, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    return done.stdout + done.stderr
