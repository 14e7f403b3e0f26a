"""Layers: a package imports only lower ones, without side effects."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Callable, Container, Iterable, Iterator

import pytest

from tests.source import Function, Module, imported, modules, parse

ROOMS = (
    ("__main__",),
    ("doctor",),
    ("backup", "settings_table"),
    ("app", "terminal", "trace", "rules"),
    ("view", "behaviour", "turn_lines", "playbook_faults"),
    ("within", "terminal_model"),
    ("services",),
    ("page_access",),
    ("server", "log", "project", "introduction", "connections"),
    ("console", "slack"),
    ("processes",),
    ("actions",),
    ("ism",),
    ("soul", "inner"),
    ("mind",),
    ("knowledge",),
    ("claude", "sandbox", "documents"),
    ("private", "lifetime"),
    ("process",),
    ("ports",),
    ("kinds",),
    ("memory", "reply", "errors", "setting", "misspelt"),
    ("limits", "price", "recipe", "engine", "environment"),
    ("interpreters", "printable"),
)
"""Top to bottom; packages on one line never import each other."""
FLOOR = {room: floor for floor, line in enumerate(ROOMS) for room in line}
WIRING = (
    "__main__",
    "doctor",
    "app",
    "terminal",
    "view",
    "behaviour",
    "within",
    "services",
    "introduction",
    "connections",
    "page_access",
)
"""Packages that may know the settings."""
APART = {"console": ("processes",), "slack": ("processes",), "mind": ("claude", "knowledge", "sandbox")}
"""Further forbidden imports: some parts arrive as arguments."""
PURE = ("processes", "actions", "ism", "mind", "ports", "kinds", "memory", "errors", "environment")
IO = (
    "aiohttp",
    "anthropic",
    "httpx2",
    "slack_bolt",
    "slack_sdk",
    "sqlite3",
    "socket",
    "subprocess",
)

QUIET_CALLS = frozenset(
    {"dataclass", "field", "frozenset", "tuple", "dict", "compile", "getLogger"}
    | {"len", "max", "min", "map", "range", "sorted", "items", "keys", "values", "split", "join"}
    | {"found", "action", "model_validator"}  # processes discovers files; a decorator returns its function
)
"""Lower-case calls allowed at the top level."""

House = dict[str, Module]


@pytest.fixture(scope="module")
def house() -> House:
    return modules("daemon", "rehearsal")


def ours(target: str, house: Container[str]) -> str:
    """Return our imported module or ''."""
    while target and target not in house:
        target = target.rpartition(".")[0]
    return target


def may_import(room: str, other: str) -> bool:
    """True if `room` may import `other`; rehearsal is beside the layers."""
    if room == other:
        return True
    if room == "rehearsal":
        return False
    if other == "rehearsal":
        return room == "__main__"
    if not other:  # the package itself is empty
        return True
    return FLOOR[room] < FLOOR[other] and other not in APART.get(room, ())


def crossings(module: Module, house: Container[str]) -> Iterator[str]:
    """Yield forbidden imports."""
    for target, node in imported(module.tree):
        if target.split(".")[0] == "config" and module.room not in WIRING:
            yield f"{module.at(node)} imports config: be handed the values you need"
        elif (other := ours(target, house)) and not may_import(module.room, parse(other, "").room):
            yield f"{module.at(node)} imports {other}"
        elif module.room in PURE and target.split(".")[0] in IO:
            yield f"{module.at(node)} imports {target}: nothing here does I/O"


def siblings(module: Module, house: Container[str]) -> Iterator[str]:
    """Yield imports between processes."""
    if module.room == "processes" and module.name != "daemon.processes":
        for target, node in imported(module.tree):
            if ours(target, house).startswith("daemon.processes"):
                yield f"{module.at(node)} imports another process: name it by string"


def deferred(module: Module, _: Container[str]) -> Iterator[str]:
    if module.name != "daemon.__main__":
        for function in module.functions:
            yield from (
                f"{module.at(node)} imports {name} inside a function" for name, node in imported(function)
            )


def at_once(module: Module, house: Container[str]) -> Iterator[str]:
    """Yield top-level imports of the rehearsal."""
    if module.room != "rehearsal":
        later = {node for function in module.functions for _, node in imported(function)}
        for target, node in imported(module.tree):
            if ours(target, house).startswith("rehearsal") and node not in later:
                yield f"{module.at(node)} loads the rehearsal whether it is asked for or not"


def effects(module: Module, _: Container[str]) -> Iterator[str]:
    return (f"{module.at(node)} does something at import" for node in loud(module.tree.body))


def loud(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements other than imports, definitions and constants."""
    for node in body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from loud(node.body)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'":
            continue
        elif isinstance(node, ast.ClassDef):
            yield from loud(node.body)
        elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Pass) and not all(map(quiet, now(node))):
            yield node


def now(node: ast.stmt) -> Iterator[ast.AST]:
    """Yield nodes that run at import."""
    if isinstance(node, Function):
        yield from (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults))
    else:
        yield node


def quiet(part: ast.AST) -> bool:
    """True for assignments and docstrings without forbidden calls."""
    if isinstance(part, ast.stmt) and not isinstance(part, ast.Assign | ast.AnnAssign | ast.Expr):
        return False
    calls = (node.func for node in running(part) if isinstance(node, ast.Call))
    names = (ast.unparse(call).rpartition(".")[2] for call in calls)
    return all(name in QUIET_CALLS or name[0].isupper() for name in names)


def running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes that run on evaluation, without lambdas."""
    if not isinstance(node, ast.Lambda):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from running(child)


Rule = Callable[[Module, Container[str]], Iterator[str]]
RULES: tuple[Rule, ...] = (crossings, siblings, deferred, at_once, effects)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_the_rule(rule: Rule, house: House) -> None:
    faults = [fault for module in house.values() for fault in rule(module, house)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (crossings, "daemon/mind/x.py", "from daemon.soul import scope"),
        (crossings, "daemon/slack/x.py", "import daemon.console.routes"),
        (crossings, "daemon/slack/x.py", "from daemon.processes import greeting"),
        (crossings, "daemon/errors.py", "from daemon.kinds import Message"),
        (crossings, "rehearsal/x.py", "from daemon.ports import Clock"),
        (crossings, "rehearsal/x.py", "import daemon"),
        (crossings, "daemon/app.py", "def f():\n    from rehearsal.local_slack import World"),
        (crossings, "daemon/app.py", "import rehearsal"),
        (crossings, "daemon/soul/x.py", "import config"),
        (crossings, "daemon/mind/x.py", "from aiohttp import web"),
        (siblings, "daemon/processes/x.py", "from daemon.processes.greeting import greeting"),
        (deferred, "daemon/soul/x.py", "def f():\n    import json"),
        (deferred, "rehearsal/x.py", "def f():\n    import json"),
        (at_once, "daemon/__main__.py", "from rehearsal.rehearsed import Rehearsed"),
        (effects, "daemon/soul/x.py", "print('hello')"),
        (effects, "daemon/soul/x.py", "TEXT = open('soul.md').read()"),
        (effects, "daemon/soul/x.py", "class A:\n    made = {make(): 1}"),
        (effects, "daemon/soul/x.py", "@app.get('/')\ndef f():\n    pass"),
        (effects, "daemon/soul/x.py", "def f(at=now()):\n    pass"),
        (effects, "daemon/soul/x.py", "for name in NAMES:\n    pass"),
    ],
)
def test_a_rule_sees_who_breaks_it(rule: Rule, path: str, text: str, house: House) -> None:
    names = {"daemon.console.routes", "daemon.processes.greeting", *house}
    assert [*rule(parse(path, text), names)] != []


def test_every_room_has_its_place(house: House) -> None:
    rooms = {module.room for module in house.values()} - {"", "rehearsal"}
    assert rooms <= FLOOR.keys(), "give the new room its line in ROOMS"


def test_no_module_needs_itself(house: House) -> None:
    needs = {
        name: {ours(target, house) for target, _ in imported(module.tree)} - {"", name}
        for name, module in house.items()
    }
    graphlib.TopologicalSorter(needs).prepare()  # raises CycleError with the modules of the cycle
