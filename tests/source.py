"""Syntax trees of the project's source."""

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
    name: str
    path: str
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """Package below daemon, or the first name; empty for daemon itself."""
        first, _, rest = self.name.partition(".")
        return rest.partition(".")[0] if first == "daemon" else first

    @property
    def functions(self) -> Iterator[Function]:
        """Functions and methods, nested ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def at(self, node: ast.AST) -> str:
        """Return `path:line`."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


def imported(tree: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    """Yield imported names with their statements; `from a import b` is a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{alias.name}", node) for alias in node.names)


def parse(path: str, text: str) -> Module:
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return Module(name=name, path=path, text=text, tree=ast.parse(text))


def each(*places: str) -> Iterator[Module]:
    for start in (ROOT / place for place in places):
        for path in sorted(start.rglob("*.py")) or [start]:
            yield parse(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def modules(*places: str) -> dict[str, Module]:
    gc.disable()  # all trees are needed: collections would waste time
    try:
        return {one.name: one for one in each(*places)}
    finally:
        gc.enable()
