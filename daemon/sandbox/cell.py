"""A cell made ready for monty: where it awaits the host, what it assigns, which modules we bring for it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

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


UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What is raised of code that cannot be parsed, or is nested too deeply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCell:
    """`text` is what monty is given; `awaited` are the bytes, from and to, of calls of the host whose answer
    the cell awaits; `assigned` the names that it may assign; `shims` the modules of ours that it imports."""

    text: str
    awaited: frozenset[tuple[int, int]] = frozenset()
    assigned: frozenset[str] = frozenset()
    shims: frozenset[str] = frozenset()


def prepare_cell(code: str, functions: Collection[str]) -> PreparedCell:
    """The cell of this code; `functions` are the host's. What cannot be parsed stays as it is."""
    text = code.replace("\r\n", "\n").replace("\r", "\n")
    try:
        tree = ast.parse(text)
    except UNREADABLE:
        return PreparedCell(text=text)
    changes = [*shim_import_changes(tree)]
    shims = set[str]()
    for _, _, modules in changes:
        shims.update(modules)
    if changes:
        text = apply_changes(text, changes)
        tree = ast.parse(text)
    calls = list[tuple[int, int]]()
    if "await" in text or "gather" in text:
        calls = AwaitedCalls(tree).awaited_spans(functions, line_offsets(text))
    return PreparedCell(
        text=text,
        awaited=frozenset(calls),
        assigned=frozenset(assigned_names(tree)),
        shims=frozenset(shims),
    )


def assigned_names(tree: ast.AST) -> Iterator[str]:
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


def shim_import_changes(tree: ast.AST) -> Iterator[Change]:
    """How the imports of modules of ours read in monty, which knows them by another name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            ours = [one.name for one in node.names if one.name in SHIMMED]
            if ours:
                yield node, "; ".join(map(import_statement, node.names)), ours
        elif isinstance(node, ast.ImportFrom) and node.module in SHIMMED and not node.level:
            parts = [
                f"{one.asname or one.name} = {monty_module_name(node.module)}.{one.name}"
                for one in node.names
            ]
            yield node, "; ".join(parts), [node.module]


def import_statement(one: ast.alias) -> str:
    """One part of an import statement as a statement of its own."""
    if one.name in SHIMMED:
        return f"{one.asname or one.name} = {monty_module_name(one.name)}"
    return ast.unparse(ast.Import([one]))


def monty_module_name(module: str) -> str:
    """What a module of ours is called in monty."""
    return f"__shim_{module}"


def apply_changes(text: str, changes: list[Change]) -> str:
    """The text with these changes; every line keeps its number."""
    raw = text.encode()
    at = line_offsets(text)
    for node, new, _ in sorted(changes, key=start_position, reverse=True):
        start, end = byte_span(node, at)
        lines = "\n" * ((node.end_lineno or node.lineno) - node.lineno)
        if lines:  # in brackets, as more may follow on its last line; an assertion is no value of the cell
            new = f"{new}; assert ({lines}True)"
        raw = raw[:start] + new.encode() + raw[end:]
    return raw.decode()


def start_position(change: Change) -> tuple[int, int]:
    """The line and the column where what is changed begins."""
    return change[0].lineno, change[0].col_offset


def line_offsets(text: str) -> list[int]:
    """The byte where each line begins."""
    found = [0]
    for line in text.encode().split(b"\n"):
        found.append(found[-1] + len(line) + 1)
    return found


def byte_span(node: ast.stmt | ast.expr, at: list[int]) -> tuple[int, int]:
    """From which byte to which a node stands."""
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return at[node.lineno - 1] + node.col_offset, at[end_line - 1] + end_column


def shim_code(module: str) -> str:
    """What to run in monty, once, so that it knows this module of ours."""
    source = (SHIMS / f"{module}.py").read_text(encoding="utf-8")
    _, _, code = source.partition("from __future__ import annotations\n")
    body = indent(code, "    ")
    names = "\n".join(f"    made.{name} = {name}" for name in SHIMMED[module].split())
    return (
        f"def __make():\n    class module:\n        pass\n{body}\n"
        f"    made = module()\n{names}\n    return made\n"
        f"{monty_module_name(module)} = __make()\n"
    )


class AwaitedCalls:
    """What in a cell waits for the host."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = [*ast.walk(tree)]
        self._parents: dict[ast.AST, ast.AST] = {}
        self._later = set[str]()
        """Names in what is awaited."""
        self._gathers = False
        for node in self._nodes:
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node
            if is_awaiting(node):
                self._later |= names_used(node)
            if last_name(node) == "gather":
                self._gathers = True

    def awaited_spans(self, functions: Collection[str], at: list[int]) -> list[tuple[int, int]]:
        """Where these are called, and the answer is awaited, itself or gathered with others."""
        found = []
        for node in self._nodes:
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in functions and self._is_awaited(node):
                    found.append(byte_span(node, at))
        return found

    def _is_awaited(self, call: ast.Call) -> bool:
        """Whether what this call gives is awaited, and not used at once."""
        held = False
        above = self._parents.get(call)
        while above is not None:
            if is_awaiting(above):
                return True
            if isinstance(above, ast.Call):
                return self._gathers and isinstance(above.func, ast.Attribute) and above.func.attr == "append"
            if isinstance(above, ast.Assign):
                later = any(self._later & names_used(target) for target in above.targets)
                return later or (self._gathers and held)
            if isinstance(above, CONTAINERS):
                held = True
            elif not isinstance(above, LAYOUT):
                return False
            above = self._parents.get(above)
        return False


def is_awaiting(node: ast.AST) -> bool:
    """`await …` or `asyncio.gather(…)`."""
    if isinstance(node, ast.Call):
        return last_name(node.func) == "gather"
    return isinstance(node, ast.Await)


def names_used(node: ast.AST) -> set[str]:
    """All names in there."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def last_name(node: ast.AST) -> str:
    """`gather` of `asyncio.gather`, or of itself; empty for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
