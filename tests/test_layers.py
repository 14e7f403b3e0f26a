"""Layers: a package imports only lower ones, without side effects."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping

import pytest

from tests.source import ROOT, Function, Module, imported, modules, parse

ROOMS = (
    ("__main__",),
    ("app", "processes"),
    ("cluster", "inner_life", "open_thought", "playbooks", "reading", "tools"),
    ("actions", "console", "mind", "process", "slack"),
    ("ism", "turn"),
    ("answers", "claude", "knowledge", "ports", "telemetry"),
    ("documents", "errors", "kinds", "model", "prompts", "sandbox", "web"),
    ("engine", "lifetime", "memory", "settings"),
)
"""Rooms of daemon/ from top to bottom: folders and loose files. Each imports only rooms of lower lines."""
FLOOR = {room: floor for floor, line in enumerate(ROOMS) for room in line}
WIRING = ("__main__", "app")
"""The only rooms that know the settings."""
APART = {"mind": ("claude", "knowledge", "sandbox")}
"""Rooms on lower floors that arrive as arguments all the same."""
PURE = (
    *("processes", "open_thought", "playbooks", "actions", "mind", "process", "ism"),
    *("answers", "ports", "errors", "kinds", "prompts", "memory"),
)
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
    | {"find_processes", "find_commands"}  # they import the files of a package
    | {"action", "model_validator"}  # a decorator makes what it decorates
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


REMEDY = (
    "move the definition to the room of its subject, name what you need by a Protocol of yours, or be handed"
    " the value by app/; see ROOMS in tests/test_layers.py"
)


def may_import(room: str, other: str) -> bool:
    """True if `room` may import `other`; rehearsal is beside the layers.

    A room without a floor may import all: its missing floor is a fault of its own.
    """
    if room == other:
        return True
    if room == "rehearsal":
        return False
    if other == "rehearsal":
        return room == "__main__"
    if not other or not {room, other} <= FLOOR.keys():  # the package itself is empty
        return True
    return FLOOR[room] < FLOOR[other] and other not in APART.get(room, ())


def crossings(module: Module, house: Container[str]) -> Iterator[str]:
    """Yield forbidden imports."""
    for target, node in imported(module.tree):
        if target.split(".")[0] == "config" and module.room not in WIRING:
            yield f"{module.at(node)} imports config: be handed the values you need"
        elif (other := ours(target, house)) and not may_import(module.room, parse(other, "").room):
            yield f"{module.at(node)} imports {other}: {REMEDY}"
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
        (crossings, "daemon/mind/x.py", "from daemon.inner_life import notes"),
        (crossings, "daemon/slack/x.py", "import daemon.console.routes"),
        (crossings, "daemon/slack/x.py", "from daemon.processes import greeting"),
        (crossings, "daemon/errors.py", "from daemon.kinds import Message"),
        (crossings, "rehearsal/x.py", "from daemon.ports import Clock"),
        (crossings, "rehearsal/x.py", "import daemon"),
        (crossings, "daemon/app/x.py", "def f():\n    from rehearsal.local_slack import World"),
        (crossings, "daemon/app/x.py", "import rehearsal"),
        (crossings, "daemon/turn/x.py", "import config"),
        (crossings, "daemon/mind/x.py", "from aiohttp import web"),
        (crossings, "daemon/mind/x.py", "from daemon.claude.client import ClaudeClient"),
        (siblings, "daemon/processes/x.py", "from daemon.processes.greeting import greeting"),
        (deferred, "daemon/turn/x.py", "def f():\n    import json"),
        (deferred, "rehearsal/x.py", "def f():\n    import json"),
        (at_once, "daemon/__main__.py", "from rehearsal.rehearsed import Rehearsed"),
        (effects, "daemon/turn/x.py", "print('hello')"),
        (effects, "daemon/turn/x.py", "TEXT = open('soul.md').read()"),
        (effects, "daemon/turn/x.py", "class A:\n    made = {make(): 1}"),
        (effects, "daemon/turn/x.py", "@app.get('/')\ndef f():\n    pass"),
        (effects, "daemon/turn/x.py", "def f(at=now()):\n    pass"),
        (effects, "daemon/turn/x.py", "for name in NAMES:\n    pass"),
    ],
)
def test_a_rule_sees_who_breaks_it(rule: Rule, path: str, text: str, house: House) -> None:
    names = {"daemon.console.routes", "daemon.processes.greeting", *house}
    assert [*rule(parse(path, text), names)] != []


def test_every_room_has_its_place(house: House) -> None:
    rooms = {module.room for module in house.values()} - {"", "rehearsal"}
    new, gone = sorted(rooms - FLOOR.keys()), sorted(FLOOR.keys() - rooms)
    assert not new, f"give {new} a line of ROOMS: one above all that it imports"
    assert not gone, f"take {gone} out of ROOMS: there is no such room"
    assert len(ROOMS) <= 8, "eight floors are enough: find the line of ROOMS where the room belongs"


def test_the_map_of_the_rooms_shows_these_floors() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    shown: dict[int, set[str]] = {}
    for floor, names in re.findall(r"^\| (\d) \| (`.*?`) \|", page, re.MULTILINE):
        rooms = [name.strip("` /").removesuffix(".py") for name in names.split(",")]
        shown.setdefault(int(floor), set()).update(rooms)
    floors = {len(ROOMS) - place: {*line} for place, line in enumerate(ROOMS)}
    assert shown == floors, "write the rooms of ROOMS into the map of the rooms in docs/ARCHITECTURE.md"


def arrows(house: House) -> dict[str, set[str]]:
    """Return the modules that each module imports."""
    return {
        name: {ours(target, house) for target, _ in imported(module.tree)} - {"", name}
        for name, module in house.items()
    }


def cycle_of(needs: Mapping[str, set[str]]) -> str:
    """Return a cycle as text, each name importing the next; empty if there is none."""
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as error:
        return " imports ".join(reversed(error.args[1]))
    return ""


def test_no_files_import_each_other_in_a_circle(house: House) -> None:
    assert not (found := cycle_of(arrows(house))), f"{found}: {REMEDY}"


def test_no_rooms_import_each_other_in_a_circle(house: House) -> None:
    needs: dict[str, set[str]] = {}
    for name, others in arrows(house).items():
        room = house[name].room
        needs.setdefault(room, set()).update({house[other].room for other in others} - {"", room})
    assert not (found := cycle_of(needs)), f"{found}: {REMEDY}"


def test_a_circle_is_seen_and_told_in_its_order() -> None:
    assert cycle_of({"a": {"b"}, "b": {"c"}, "c": {"a"}}) in (
        "a imports b imports c imports a",
        "b imports c imports a imports b",
        "c imports a imports b imports c",
    )
    assert cycle_of({"a": {"b", "c"}, "b": {"c"}}) == ""
