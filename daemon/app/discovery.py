"""Discovery of processes, built-in actions, inner commands, and the owner's actions in `actions/`.

An owner's file runs with the daemon's rights. Names with a leading `_` are helpers.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
import pkgutil
import re
import runpy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from daemon.actions.action import ActionDefinition
from daemon.actions.function import VARIADIC, ActionDependencies, ActionFunction, Expert, SourceProvider
from daemon.actions.registry import ActionRegistry
from daemon.actions.tool_offer import FIND_TOOL_SUMMARY, ToolSource, find_tool
from daemon.answers.choice import DONE
from daemon.errors import escaped_line
from daemon.inner_life.commands.cycle_commands import help_command
from daemon.inner_life.commands.program_commands import BranchProgram, make_branch_programs
from daemon.inner_life.contexts import InnerLifeSetup
from daemon.inner_life.recipients import RecipientDirectory, make_record_sharer
from daemon.inner_life.tick_log import InnerLifeState
from daemon.knowledge.person_notes import PersonNotes
from daemon.playbooks.built_in import (
    ask_person,
    escalate,
    read_thread,
    remember,
    research,
    respond,
    schedule,
    search_memory,
    think,
)
from daemon.ports import Library
from daemon.process import MentalProcess, Placeholders
from daemon.prompts.elements import soul_name_in
from daemon.prompts.prompt_catalogue import (
    NAMED,
    PLAYBOOK_NAME,
    SOUL_TEXT,
    WHEN_FOLDER,
    WORDING,
    PromptCatalogue,
    are_prompt_texts,
)
from daemon.reading.read_deeply import read_deeply
from daemon.settings.home import LOAD_ERRORS, project_root, read_text_file, unloadable_reason
from daemon.settings.limits import DEFAULT_INNER_LIMITS, AllowedProgram, InnerLimits
from daemon.tools.connection import ServerOpener
from daemon.tools.linked_resources import resource_action
from daemon.tools.tool_catalogue import ToolCatalogue

P = TypeVar("P")


def prompt_catalogue(processes: Iterable[object], *more: Mapping[str, Placeholders]) -> PromptCatalogue:
    """Return the texts that the soul and these processes need, and `more`."""
    texts = dict(WORDING)
    defaults: dict[str, str] = {}
    for needed in more:
        texts |= needed
    for process in processes:
        if not isinstance(process, MentalProcess):
            continue
        texts |= process.texts
        if process.when:
            name = WHEN_FOLDER + process.name
            texts[name] = NAMED
            defaults[name] = process.when
    return PromptCatalogue(texts=texts, defaults=defaults)


def _parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandDependencies:
    """Dependencies of inner commands. `meetings`: limit of messages with other bots in a UTC day."""

    state: InnerLifeState
    reach: RecipientDirectory
    limits: InnerLimits = DEFAULT_INNER_LIMITS
    meetings: int = 20
    library: Library | None = None
    recipes: Mapping[str, AllowedProgram] = field(default_factory=dict)

    def by_name(self) -> Mapping[str, object]:
        """Return them by the names under which the functions of command files ask for them."""
        return {
            "notes": self.state.notes,
            "records": self.state.records,
            "programs": self.state.processes,
            "recipes": self.recipes,
            "branch_programs": self.branch_programs,
            "min_pause": self.limits.pause,
            "library": self.library,
            "reach": self.reach,
            "share_records": make_record_sharer(self.state.records),
            "daily_messages": self.limits.messages,
            "daily_calls": self.meetings,
        }

    @property
    def branch_programs(self) -> Mapping[str, BranchProgram]:
        """Programs that are branches of open thought."""
        return make_branch_programs(folders=self.library is not None)


CommandFactory = Callable[..., Sequence[ActionDefinition]]
"""A function that makes commands of the things that it names as parameters."""


COMMAND_PACKAGE = "daemon.inner_life.commands"
"""The package of which each file makes commands, except the one that defines them."""


LISTED_FIRST = ("memory_commands", "program_commands", "cycle_commands", "message_commands")
"""Files whose commands come first in the help, in this order; other files follow by name."""


def find_commands(package: str = COMMAND_PACKAGE) -> Sequence[CommandFactory]:
    """Return the functions in `COMMANDS` of each file of the package. Raises TypeError for a file without."""
    files = pkgutil.iter_modules(import_module(package).__path__)
    names = {file.name for file in files if not file.name.startswith("_")} - {"command"}
    found: list[CommandFactory] = []
    for name in [*filter(names.__contains__, LISTED_FIRST), *sorted(names.difference(LISTED_FIRST))]:
        listed = getattr(import_module(f"{package}.{name}"), "COMMANDS", None)
        if not (listed and isinstance(listed, tuple) and all(map(callable, listed))):
            raise TypeError(
                f"{package}.{name} makes no commands: write `COMMANDS = (…,)`, its functions, at its end"
            )
        found += listed
    return found


COMMANDS = find_commands()


def make_commands(
    means: CommandDependencies, factories: Iterable[CommandFactory] = COMMANDS
) -> Sequence[ActionDefinition]:
    """Create all commands; file commands need the owner's folders."""
    things = means.by_name()
    made: list[ActionDefinition] = []
    for factory in factories:
        given = {}
        for name in _parameters(factory):
            if name not in things:
                raise TypeError(f"{factory.__name__} needs `{name}`: there are {', '.join(things)}")
            given[name] = things[name]
        if all(value is not None for value in given.values()):
            made += factory(**given)
    return made


def all_commands(nothing: Any) -> Sequence[ActionDefinition]:
    """Create all commands for description only."""
    return make_commands(CommandDependencies(state=nothing, reach=nothing, library=nothing))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessDependencies:
    """Things that a process is given if its function names them as parameters.

    A parameter has a default: the process works without, too. `local`: the workspace is rehearsed, and
    forgets people as the soul does.
    """

    shelf: SourceProvider | None = None
    library: Library | None = None
    actions: ActionRegistry | None = None
    capacity: str | None = None
    life: InnerLifeSetup | None = None
    notes: PersonNotes | None = None
    local: bool | None = None
    tools: ToolCatalogue | None = None


def bind_process(process: P, given: ProcessDependencies) -> P:
    """Return a process that is given the things that its function names; others as they are."""
    if not isinstance(process, MentalProcess):
        return process
    values = {name: getattr(given, name, None) for name in _parameters(process.run)}
    bound = getattr(process.run, "keywords", {})  # what a partial of the owner's gives already
    values = {name: value for name, value in values.items() if value is not None and name not in bound}
    if not values:
        return process
    return replace(process, run=partial(process.run, **values))


def bind_processes(processes: Mapping[str, P], given: ProcessDependencies) -> Mapping[str, P]:
    """Return the processes, each given the things that its function names."""
    return {name: bind_process(process, given) for name, process in processes.items()}


class CurrentSoulName:
    """Name of the soul in soul.md; the last good one if unreadable."""

    def __init__(self) -> None:
        self._good = soul_name_in("")

    def __call__(self) -> str:
        with suppress(ValueError):
            text = read_text_file(project_root() / f"{SOUL_TEXT}.md")
            if text.strip():
                self._good = soul_name_in(text)
        return self._good


def soul_name() -> str:
    """Return the current name once."""
    return CurrentSoulName()()


COMMAND = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""Pattern of a message command's word, after the `!`."""


STOP = "stop"


PACKAGE = "daemon.processes"


def find_processes(package: str = PACKAGE) -> tuple[Mapping[str, MentalProcess], Mapping[str, Sequence[str]]]:
    """Return processes by name, and faults by file."""
    processes: dict[str, MentalProcess] = {}
    files: dict[str, str] = {}
    faults: dict[str, Sequence[str]] = {}
    for folder in import_module(package).__path__:
        for file in pkgutil.iter_modules([folder]):
            try:
                module = import_module(f"{package}.{file.name}")
            except LOAD_ERRORS as error:
                said = unloadable_reason(error, Path(folder, f"{file.name}.py"))
                faults[file.name] = [f"{said}: mend it, or take it away"]
                continue
            process: Any = getattr(module, "PROCESS", None)
            wrong = [*_faults(process)]
            if not wrong and process.name in processes:
                there = f"{files[process.name]}.py has a process `{process.name}`, too"
                wrong.append(f"{there}: give one of them another name")
            if wrong:
                faults[file.name] = wrong
            else:
                processes[process.name], files[process.name] = process, file.name
    return processes, faults


def _faults(process: object) -> Iterator[str]:
    if not isinstance(process, MentalProcess):
        yield "it holds no process: write `PROCESS = MentalProcess(…)` at its end, or take it away"
        return
    if not PLAYBOOK_NAME.fullmatch(str(process.name)):
        yield f"{process.name!r} is no name for a process: use a-z, 0-9 and _ alone, a letter first"
    ways = (process.run, type(process.run).__call__)
    if not any(map(inspect.iscoroutinefunction, ways)):
        yield "its function does not wait: write `async def`"
    else:
        yield from filter(None, map(_parameter_fault, list(_parameters(process.run).values())[1:]))
    for name, given in (("leads_to", process.leads_to), ("commands", process.commands)):
        if isinstance(given, str):
            yield f'`{name}` is a text where a tuple belongs: write `{name}=("{given}",)`, with the comma'
    if not isinstance(process.commands, str):
        yield from filter(None, map(_command_fault, process.commands))
    if not are_prompt_texts(process.texts):
        yield 'its `texts` name no `Placeholders`: write `texts={"prompts/…": Placeholders()}`'


def _parameter_fault(parameter: inspect.Parameter) -> str:
    """Return the fault of a parameter besides the turn that nothing is given for; empty if there is none."""
    if parameter.default is not parameter.empty or parameter.kind in VARIADIC:
        return ""
    known = ", ".join(ProcessDependencies.__dataclass_fields__)
    return f"its function needs `{parameter.name}`: take {known}, each with a default"


def _command_fault(command: object) -> str:
    if command == STOP:
        return "`!stop` ends what goes on and reaches no process: take another word"
    if isinstance(command, str) and COMMAND.fullmatch(command):
        return ""
    return f"{command!r} is no command: write the word alone, without `!`, in small letters"


PROCESSES, PROCESS_FAULTS = find_processes()
"""All built-in processes, and faults by file."""


BUILT_IN = (
    think,
    respond,
    ask_person,
    research,
    read_deeply,
    search_memory,
    read_thread,
    remember,
    schedule,
    escalate,
)


def make_registry(
    means: ActionDependencies,
    own: Sequence[ActionFunction] = (),
    inner: Sequence[ActionDefinition] = (),
    tools: ToolSource | None = None,
) -> ActionRegistry:
    """Return the available actions, the owner's `own`, `inner` commands, and `tools` of MCP servers."""
    found = [one.definition(means) for one in (*BUILT_IN, *own) if one.works_with(means)]
    return ActionRegistry([*found, help_command(inner), *inner], tools)


class PlaceholderDependency:
    """Placeholder for dependencies when only descriptions are read."""

    def __getattr__(self, name: str) -> Any:
        return self


def all_actions(own: Sequence[ActionFunction] = ()) -> ActionRegistry:
    """Return every possible action."""
    nothing: Any = PlaceholderDependency()
    means = ActionDependencies(
        memories=nothing, library=nothing, shelf=nothing, expert=Expert(True), soul_home=nothing
    )
    known = make_registry(means, own, all_commands(nothing))
    of_tools = [find_tool((), FIND_TOOL_SUMMARY), resource_action(nothing)]
    return ActionRegistry([*of_tools, *known.named.values(), *known.commands])


ACTIONS = "actions/"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerActions:
    """The owner's usable actions, and faults by file or action."""

    actions: Sequence[ActionFunction] = ()
    faults: Mapping[str, Sequence[str]] = field(default_factory=dict)


class OwnFiles:
    """Snapshot of the Python files in `actions/`, made before they are loaded."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / ACTIONS
        self._read = self._now()

    @property
    def changed(self) -> list[str]:
        """Return a sentence for each file changed, added or removed since."""
        before, now = self._read, self._now()
        return [
            f"{ACTIONS}{name} was changed after the start: start the daemon anew to use it as it is now;"
            " `python -m daemon check` says whether it can be used."
            for name in sorted(before.keys() | now.keys())
            if before.get(name) != now.get(name)
        ]

    def _now(self) -> Mapping[str, bytes]:
        found = {}
        for file in self._folder.glob("[!.]*.py"):
            content = b""
            with suppress(OSError):
                if file.is_file():  # opening a pipe would wait for a writer
                    content = file.read_bytes()
            found[escaped_line(file.name)] = hashlib.sha256(content).digest()
        return found


def find_owner_actions(folder: Path) -> OwnerActions:
    """Load the actions in file order."""
    actions: list[ActionFunction] = []
    faults: dict[str, Sequence[str]] = {}
    known = all_actions()
    taken = {name.casefold() for name in (DONE, *known.named, *known.known)}
    for file in sorted((folder / ACTIONS).glob("[!._]*.py")):
        name = f"{ACTIONS}{file.stem}"
        try:
            found = _in(file)
        except LOAD_ERRORS as error:
            faults[name] = [f"{unloadable_reason(error, file)}: mend it, or take it away"]
            continue
        if not found:
            faults[name] = ["it holds no action: write `@action` above a function of it, or take it away"]
        for one in found:
            wrong = [*one.faults]
            if one.name.casefold() in taken:
                wrong.append("there is another action of this name: give its function another one")
            if wrong:
                faults[f"{name}: {one.name}"] = wrong
            else:
                actions.append(one)
            taken.add(one.name.casefold())
    return OwnerActions(actions=actions, faults=faults)


def with_samples(own: OwnerActions, folder: Path) -> OwnerActions:
    """Add the folder's actions, unless an owner's has the name."""
    taken = {one.name.casefold() for one in own.actions}
    samples = [one for one in find_owner_actions(folder).actions if one.name.casefold() not in taken]
    return replace(own, actions=[*own.actions, *samples])


def _in(file: Path) -> Sequence[ActionFunction]:
    names = runpy.run_path(str(file), run_name=f"{ACTIONS}{file.stem}")
    return [one for one in names.values() if isinstance(one, ActionFunction)]


SDK_LOGGERS = ("mcp", "client")
"""Loggers of the SDK for MCP."""


async def load_connections() -> ServerOpener:
    """Return the function that opens connections to tool servers; the import of the SDK takes seconds."""
    module = await asyncio.to_thread(import_module, "daemon.tools.mcp_connection")
    for name in SDK_LOGGERS:  # their tracebacks show what servers sent
        logging.getLogger(name).setLevel(logging.CRITICAL)
    connect: ServerOpener = module.open_connection
    return connect


async def load_for_log(name: str) -> Any:
    """Return a module for daemons that share a log; it needs the packages for PostgreSQL."""
    return await asyncio.to_thread(import_module, f"daemon.app.{name}")
