"""A cell made ready for monty: where it awaits the host, what it assigns, which modules we bring for it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from daemon.sandbox.subset import SHIMMED

SHIMS = Path(__file__).parent / "shims"
CONTAINERS = (
    ast.List,
    ast.Tuple,
    ast.Set,
    ast.Dict,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
LAYOUT = (ast.Starred, ast.keyword, ast.NamedExpr)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """`text` is what monty is given; `awaited` are the bytes, from and to, of calls of the host whose answer
    the cell awaits; `assigned` the names that it may assign; `shims` the modules of ours that it imports."""

    text: str
    awaited: frozenset[tuple[int, int]] = frozenset()
    assigned: frozenset[str] = frozenset()
    shims: frozenset[str] = frozenset()


def prepared(code: str, functions: Collection[str]) -> Cell:
    """The cell of this code; `functions` are the host's. What cannot be parsed stays as it is."""
    text = code.replace("\r\n", "\n").replace("\r", "\n")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Cell(text=text)
    changes = [*imports(tree)]
    if changes:
        text = changed(text, changes)
        tree = ast.parse(text)
    may_await = "await" in text or "gather" in text
    return Cell(
        text=text,
        awaited=frozenset(awaited(tree, text, functions) if may_await else ()),
        assigned=frozenset(assigned(tree)),
        shims=frozenset(shim for _, _, shims in changes for shim in shims),
    )


def assigned(tree: ast.AST) -> Iterator[str]:
    """Names that are assigned, defined or imported anywhere in there."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                yield name
            case ast.alias(name=name, asname=given):
                yield given or name.split(".")[0]


Change = tuple[ast.stmt, str, list[str]]
"""A statement, what stands in its place, and the modules of ours that it needs."""


def imports(tree: ast.AST) -> Iterator[Change]:
    """How the imports of modules of ours read in monty, which knows them by another name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            ours = [one.name for one in node.names if one.name in SHIMMED]
            if ours:
                yield node, "; ".join(map(imported, node.names)), ours
        elif isinstance(node, ast.ImportFrom) and node.module in SHIMMED and not node.level:
            parts = [f"{one.asname or one.name} = {named(node.module)}.{one.name}" for one in node.names]
            yield node, "; ".join(parts), [node.module]


def imported(one: ast.alias) -> str:
    """One part of an import statement as a statement of its own."""
    if one.name in SHIMMED:
        return f"{one.asname or one.name} = {named(one.name)}"
    return f"import {one.name} as {one.asname}" if one.asname else f"import {one.name}"


def named(module: str) -> str:
    """What a module of ours is called in monty."""
    return f"__shim_{module}"


def changed(text: str, changes: list[Change]) -> str:
    """The text with these changes; every line keeps its number."""
    raw = text.encode()
    at = offsets(text)
    for node, new, _ in sorted(changes, key=lambda change: span(change[0], at), reverse=True):
        start, end = span(node, at)
        lines = "\n" * ((node.end_lineno or node.lineno) - node.lineno)
        if lines:  # in brackets, as more may follow on its last line; an assertion is no value of the cell
            new = f"{new}; assert ({lines}True)"
        raw = raw[:start] + new.encode() + raw[end:]
    return raw.decode()


def offsets(text: str) -> list[int]:
    """The byte where each line begins."""
    found = [0]
    for line in text.encode().split(b"\n"):
        found.append(found[-1] + len(line) + 1)
    return found


def span(node: ast.stmt | ast.expr, at: list[int]) -> tuple[int, int]:
    """From which byte to which a node stands."""
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return at[node.lineno - 1] + node.col_offset, at[end_line - 1] + end_column


def shim(module: str) -> str:
    """What to run in monty, once, so that it knows this module of ours."""
    source = (
        (SHIMS / f"{module}.py").read_text(encoding="utf-8").split("from __future__ import annotations\n")[1]
    )
    body = "\n".join(f"    {line}" if line else "" for line in source.split("\n"))
    names = "\n".join(f"    made.{name} = {name}" for name in SHIMMED[module].split())
    return (
        f"def __make():\n    class module:\n        pass\n{body}\n"
        f"    made = module()\n{names}\n    return made\n"
        f"{named(module)} = __make()\n"
    )


def awaited(tree: ast.Module, text: str, functions: Collection[str]) -> Iterator[tuple[int, int]]:
    """Where calls of the host stand whose answer is awaited, itself or gathered with others."""
    at = offsets(text)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    later = {name for node in ast.walk(tree) if is_awaiting(node) for name in names_in(node)}
    gathers = any(
        isinstance(node, ast.Attribute | ast.Name) and last_name(node) == "gather" for node in ast.walk(tree)
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:  # noqa: SIM102
            if is_awaited(node, parents.get, later, gathers):
                yield span(node, at)


def is_awaited(
    node: ast.AST, parent: Callable[[ast.AST], ast.AST | None], later: set[str], gathers: bool
) -> bool:
    """Whether what this call gives is awaited, and not used at once."""
    held = False
    above = parent(node)
    while above is not None:
        if is_awaiting(above):
            return True
        if isinstance(above, CONTAINERS):
            held = True
        elif isinstance(above, ast.Call):
            return gathers and isinstance(above.func, ast.Attribute) and above.func.attr == "append"
        elif isinstance(above, ast.Assign):
            return (gathers and held) or any(name in later for one in above.targets for name in names_in(one))
        elif not isinstance(above, LAYOUT):
            return False
        above = parent(above)
    return False


def is_awaiting(node: ast.AST) -> bool:
    """`await …` or `asyncio.gather(…)`."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute | ast.Name) and last_name(node.func) == "gather"
    return isinstance(node, ast.Await)


def names_in(node: ast.AST) -> Iterator[str]:
    """All names in there."""
    return (one.id for one in ast.walk(node) if isinstance(one, ast.Name))


def last_name(node: ast.Attribute | ast.Name) -> str:
    """`gather` of `asyncio.gather`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id
