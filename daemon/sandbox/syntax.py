"""Looks at a cell and says what in it monty cannot do. It looks at syntax alone, before anything runs."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

from daemon.sandbox.cell import UNREADABLE, last_name, names_used
from daemon.sandbox.subset import BUILTINS, DUNDERS, METHODS, MODULES, OPTIONS, SHIMMED, TYPES

KNOWN = {**MODULES, **SHIMMED}

FORMS: tuple[tuple[type[ast.AST], str], ...] = (
    (ast.Yield, "yield"),
    (ast.YieldFrom, "yield from"),
    (ast.Delete, "del"),
    (ast.AsyncFor, "async for"),
    (ast.AsyncWith, "async with"),
    (ast.TryStar, "except*"),
)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
ENCODINGS = ("utf-8", "utf8", "UTF-8", "ascii")
SYNCHRONOUS = ("map", "filter", "sorted", "min", "max", "reduce", "sort", "sub", "defaultdict")
"""They call what they are given where monty cannot wait for the host."""


def needs_cpython(code: str, functions: Collection[str] = (), known: Collection[str] = ()) -> str:
    """What stands in this cell that monty cannot do, as `class inheritance`; empty where there is nothing.

    `functions` are the names of what, when called, calls the host; `known` those of earlier cells. A cell
    that cannot be parsed, or is nested too deeply, needs nothing: monty will say what is wrong with it.
    """
    try:
        return next(SyntaxCheck(ast.parse(code), functions, known).faults(), "")
    except UNREADABLE:
        return ""


def functions_that_call(code: str, functions: Collection[str]) -> set[str]:
    """The functions that this cell defines and that call one of these, directly or through each other."""
    try:
        tree = ast.parse(code)
    except UNREADABLE:
        return set()
    return functions_reaching(tree, functions)


def functions_reaching(tree: ast.AST, functions: Collection[str]) -> set[str]:
    """The same of a cell that was parsed."""
    bodies = [*bodies_by_name(tree)]
    found = set(functions)
    while True:
        more = {name for name, body in bodies if name not in found and calls_any(body, found)}
        if not more:
            return found - set(functions)
        found |= more


def bodies_by_name(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Functions and lambdas by their names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value


def calls_any(body: ast.AST, functions: Collection[str]) -> bool:
    """Whether one of these is called, or handed on, in there."""
    return not names_used(body).isdisjoint(functions)


class SyntaxCheck:
    """One look at a cell."""

    def __init__(self, tree: ast.Module, functions: Collection[str], known: Collection[str]) -> None:
        self._tree = tree
        self._nodes = [*ast.walk(tree)]
        self._functions = functions_reaching(tree, functions).union(functions)
        self._own = set(known)
        self._modules: dict[str, str] = {}
        """Names under which the cell has imported modules."""
        for node in self._nodes:
            if isinstance(node, DEFINITIONS):
                self._own.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._own.add(node.id)
            elif isinstance(node, ast.Import):
                for one in node.names:
                    self._modules[one.asname or one.name.split(".")[0]] = one.name
        self._missing = set(BUILTINS.split()) - self._own
        self._methods = set(METHODS.split()) - self._own

    def faults(self) -> Iterator[str]:
        """All that monty cannot do, in the order of the tree."""
        for node in self._nodes:
            yield from unknown_forms(node)
            match node:
                case ast.ClassDef():
                    yield from self._class(node)
                case ast.Import():
                    for one in node.names:
                        yield from missing_import(one.name)
                case ast.ImportFrom():
                    yield from missing_from_import(node)
                case ast.Attribute() if self._is_missing(node):
                    yield f"{ast.unparse(node.value)[:40]}.{node.attr}"
                case ast.Name(id=name, ctx=ast.Load()) if name in self._missing:
                    yield name
                case ast.Call():
                    yield from self._call(node)

    def _class(self, node: ast.ClassDef) -> Iterator[str]:
        if node.bases or node.keywords:
            yield "class inheritance"
        for one in node.body:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                if one.decorator_list:
                    yield f"the decorator {ast.unparse(one.decorator_list[0])} on a method"
                special = one.name.startswith("__") and one.name.endswith("__")
                if special and one.name not in DUNDERS.split():
                    yield one.name
            elif not isinstance(one, ast.Assign | ast.AnnAssign | ast.Pass) and not is_text(one):
                yield "this kind of statement in a class"

    def _is_missing(self, node: ast.Attribute) -> bool:
        """Whether this is an attribute of a module, a type or a method that monty has not."""
        if node.attr in self._methods:
            return True
        if node.attr == "__name__":
            return not is_type_expression(node.value)
        if isinstance(node.value, ast.Attribute):
            dotted = ast.unparse(node.value)
            if dotted in ("datetime.datetime", "datetime.date"):
                return node.attr not in TYPES[node.value.attr].split()
        if not isinstance(node.value, ast.Name):
            return False
        name = node.value.id
        module = self._modules.get(name, "")
        if module in KNOWN:
            return node.attr not in KNOWN[module].split()
        return name in TYPES and name not in self._own and node.attr not in TYPES[name].split()

    def _call(self, node: ast.Call) -> Iterator[str]:
        name = last_name(node.func)
        if isinstance(node.func, ast.Name):
            yield from self._bare_call(name, node)
        if name in OPTIONS:
            yield from unknown_options(name, node)
        if name in ("encode", "decode"):
            yield from unknown_encoding(node)
        if name == "sub" and any(self._is_function(one) for one in node.args[:2]):
            yield "re.sub with a function"
        if name in SYNCHRONOUS:
            given = node.args + [one.value for one in node.keywords]
            if any(self._reaches_the_host(one) for one in given):
                yield f"{name} with a function that calls the host"

    def _bare_call(self, name: str, node: ast.Call) -> Iterator[str]:
        if name in self._own:
            return
        if name == "object" or (name == "bytes" and node.args):
            yield f"{name}(…)"
        if is_exception(name) and (len(node.args) > 1 or node.keywords):
            yield f"{name} with several arguments"

    def _is_function(self, node: ast.expr) -> bool:
        """A lambda, or the name of what this cell defines as a function."""
        if isinstance(node, ast.Name):
            return node.id in dict(bodies_by_name(self._tree))
        return isinstance(node, ast.Lambda)

    def _reaches_the_host(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._functions
        return isinstance(node, ast.Lambda) and calls_any(node, self._functions)


def missing_import(module: str) -> Iterator[str]:
    """What is missing for `import module`."""
    if module not in KNOWN and module not in ("os.path", "__future__"):
        yield f"the module {module}"


def missing_from_import(node: ast.ImportFrom) -> Iterator[str]:
    """What is missing for `from module import …`."""
    module = node.module or "."
    yield from missing_import(module)
    names = KNOWN.get(module, "").split()
    for one in node.names:
        if one.name == "*":
            yield "import *"
        elif module in KNOWN and one.name not in names:
            yield f"{module}.{one.name}"


def unknown_forms(node: ast.AST) -> Iterator[str]:
    """What this node is, where monty has no such thing."""
    for form, name in FORMS:
        if isinstance(node, form):
            yield name
    if isinstance(node, ast.comprehension) and node.is_async:
        yield "async for"


def unknown_options(name: str, call: ast.Call) -> Iterator[str]:
    """The keywords that this function has not."""
    known = OPTIONS[name].split()
    for one in call.keywords:
        if one.arg and one.arg not in known:
            yield f"{name}({one.arg}=…)"


def unknown_encoding(call: ast.Call) -> Iterator[str]:
    """The encoding that this call names."""
    match call.args:
        case [ast.Constant(value=encoding), *_] if encoding not in ENCODINGS:
            yield f"the encoding {encoding!r}"


def is_text(node: ast.stmt) -> bool:
    """A docstring, or an ellipsis."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_type_expression(node: ast.expr) -> bool:
    """`type(x)` or `x.__class__`, whose name it knows."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "type"
    return isinstance(node, ast.Attribute) and node.attr == "__class__"


def is_exception(name: str) -> bool:
    """A builtin exception."""
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)
