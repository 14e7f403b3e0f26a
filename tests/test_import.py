"""Imports of the daemon without side effects or output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.source import ROOT, each, imported

CHILD = """
import importlib, sys, threading

def load(name):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        load(name.rpartition(".")[0])

def watch(event, args):
    source = event == "open" and str(args[0]).endswith((".py", ".pyc"))
    if event in EFFECTS and not source:
        print(event, *args)

EFFECTS = {"open", "os.mkdir", "os.remove", "socket.__new__", "sqlite3.connect", "subprocess.Popen"}
others, ours = (text.split() for text in sys.argv[1:])
for name in others:
    load(name)
threads = threading.active_count()
sys.addaudithook(watch)
for name in ours:
    importlib.import_module(name)
if threading.active_count() > threads:
    print("a thread was started")
"""


def imports(others: set[str], ours: set[str], path: Path, folder: Path) -> str:
    """Return side effects and output of importing `ours` after `others`."""
    command = [
        sys.executable,
        "-B",
        "-W",
        "error",
        "-c",
        CHILD,
        " ".join(sorted(others)),
        " ".join(sorted(ours)),
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_importing_every_module_has_no_effect(tmp_path: Path) -> None:
    house: set[str] = set()
    names: set[str] = set()
    for module in each("daemon", "rehearsal"):
        house.add(module.name)
        names.update(name for name, _ in imported(module.tree))
    others = {name for name in names if name.split(".")[0] not in ("daemon", "rehearsal", "config")}
    assert imports(others, house | {"config"}, ROOT, tmp_path) == ""
    assert [*tmp_path.iterdir()] == []


def test_an_effect_at_import_is_seen(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text("from pathlib import Path\nPath('soul.md').write_text('')\n")
    assert "soul.md" in imports({"pathlib"}, {"loud"}, tmp_path, tmp_path)
