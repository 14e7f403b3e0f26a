"""Habits of readable code: small functions, no blanket excepts, no mocks."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.source import Module, imported, modules, parse

FUNCTION_LINES = 40
LONGEST_STORY = 60
"""Lines of a function of tests or benchmarks."""
DOCSTRING_LINES = 6
TREE = "daemon/errors.py"
"""Exempt: it draws the tree of errors."""
BOUNDARIES = {
    "daemon/engine/journal/follower.py": 1,
    "daemon/engine/waits.py": 1,
    "daemon/engine/worker.py": 2,
    "daemon/actions/action.py": 1,
    "daemon/inner_life/commands/command.py": 1,
    "daemon/ism.py": 1,
    "daemon/open_thought/executor.py": 1,
    "daemon/tools/connected_server.py": 1,
    "daemon/tools/soul_server.py": 1,
    "daemon/tools/tool_calls.py": 1,
}
"""Number of `except Exception` by file."""
BLANKETS = ("Exception", "BaseException")
MOCKS = ("unittest", "mock", "pytest_mock")

Modules = dict[str, Module]


@pytest.fixture(scope="module")
def code() -> Modules:
    """Modules that run for an owner; not cached: trees take memory."""
    return modules("config.py", "daemon", "rehearsal", "benchmarks")


@pytest.fixture(scope="module")
def proofs() -> Modules:
    return modules("tests")


@pytest.fixture(scope="module")
def every(code: Modules, proofs: Modules) -> Modules:
    return code | proofs


def blankets(module: Module) -> list[str]:
    """Return places that catch everything."""
    return [module.at(node) for node in ast.walk(module.tree) if is_blanket(node)]


def is_blanket(node: ast.AST) -> bool:
    """True if all exceptions are caught and kept."""
    if isinstance(node, ast.ExceptHandler):
        caught = names(node.type) if node.type else BLANKETS
        return any(name in BLANKETS for name in caught) and not reraises(node)
    return (
        isinstance(node, ast.Call)
        and names(node.func) == ["suppress"]
        and any(name in BLANKETS for argument in node.args for name in names(argument))
    )


def reraises(node: ast.ExceptHandler) -> bool:
    last = node.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def names(node: ast.expr) -> list[str]:
    """Return last parts of a name or tuple of names."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return [ast.unparse(part).rpartition(".")[2] for part in parts]


def mocks(module: Module) -> Iterator[str]:
    """Yield places where a test patches the program."""
    yield from (module.at(node) for name, node in imported(module.tree) if name.split(".")[0] in MOCKS)
    for node in ast.walk(module.tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "setattr"
            and ast.unparse(node) == "monkeypatch.setattr"
        ):
            yield module.at(node)


def test_a_function_fits_in_the_eye(every: Modules) -> None:
    long: list[str] = []
    for module in every.values():
        most = LONGEST_STORY if module.room in ("tests", "benchmarks") else FUNCTION_LINES
        sizes = {one: (one.end_lineno or 0) - one.lineno + 1 for one in module.functions}
        long += [f"{module.at(one)} {one.name}" for one, lines in sizes.items() if lines > most]
    assert not long, "\n".join(["split them, or do less:", *long])


def test_a_name_finds_one_file(code: Modules) -> None:
    paths: dict[str, list[str]] = {}
    for module in code.values():
        if module.room not in ("benchmarks", "processes"):  # processes are named for people
            paths.setdefault(module.path.rpartition("/")[2], []).append(module.path)
    del paths["__init__.py"], paths["__main__.py"]
    shared = [found for found in paths.values() if len(found) > 1]
    assert not shared, f"give one file of each list another name: {shared}"


def test_a_module_says_first_what_it_holds(every: Modules) -> None:
    said = {
        one.path: len((ast.get_docstring(one.tree) or "").splitlines()) for one in every.values() if one.text
    }
    assert said.pop(TREE) > 0
    wrong = {path: lines for path, lines in said.items() if not 1 <= lines <= DOCSTRING_LINES}
    assert not wrong, f"begin each file with a docstring of 1 to {DOCSTRING_LINES} lines: {wrong}"


def test_only_boundaries_catch_everything(code: Modules) -> None:
    found = [place for module in code.values() for place in blankets(module)]
    counts = Counter(place.partition(":")[0] for place in found)
    assert counts == BOUNDARIES, f"catch the errors that you expect, or change BOUNDARIES: {found}"


def test_tests_never_change_the_program_that_they_test(proofs: Modules) -> None:
    found = [place for module in proofs.values() for place in mocks(module)]
    assert not found, f"hand the program a stand-in as an argument, and patch nothing: {found}"


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    f()\nexcept:\n    pass",
        "try:\n    f()\nexcept Exception:\n    pass",
        "try:\n    f()\nexcept (OSError, builtins.BaseException) as error:\n    print(error)",
        "with contextlib.suppress(Exception):\n    f()",
    ],
)
def test_a_blanket_except_is_seen(text: str) -> None:
    assert blankets(parse("daemon/soul/x.py", text)) != []


@pytest.mark.parametrize(
    "text",
    [
        "from unittest.mock import patch",
        "import unittest.mock",
        "def test_x(monkeypatch):\n    monkeypatch.setattr(a, 'b', 1)",
    ],
)
def test_a_mock_is_seen(text: str) -> None:
    assert [*mocks(parse("tests/x.py", text))] != []
