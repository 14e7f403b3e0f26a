"""The project's own source as syntax trees, for the tests that hold it to its habits."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One Python file: its dotted name, its path from the root, its text and its tree."""

    name: str
    path: str
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """The part of the house that it belongs to: `soul` for daemon.soul.scope, `rehearsal` for all of it.

        Empty for daemon itself.
        """
        first, _, rest = self.name.partition(".")
        return rest.partition(".")[0] if first == "daemon" else first

    @property
    def functions(self) -> Iterator[Function]:
        """All functions and methods, nested ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def at(self, node: ast.AST) -> str:
        """Where this node stands, as an editor wants it."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


def imported(tree: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    """What is imported anywhere in this tree, and where; `from a import b` counts as a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{alias.name}", node) for alias in node.names)


def parse(path: str, text: str) -> Module:
    """A module of this text that would stand at this path."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return Module(name=name, path=path, text=text, tree=ast.parse(text))


def each(*places: str) -> Iterator[Module]:
    """The modules at these places: files, or folders with all that is in them."""
    for start in (ROOT / place for place in places):
        for path in sorted(start.rglob("*.py")) or [start]:
            yield parse(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def modules(*places: str) -> dict[str, Module]:
    """All of them at once, by dotted name."""
    gc.disable()  # it would search for garbage, again and again, in trees that are all needed
    try:
        return {one.name: one for one in each(*places)}
    finally:
        gc.enable()
