"""The owner's own actions: each file of the folder `actions/` that holds some is read when the daemon starts.

What stands there is the owner's code, and runs as the daemon does. A file whose name begins with `_` is no
action, but may be needed by one.

The built-in actions and commands, as far as they can work here: the one registry.

The commands of the inner life, as far as they can work here: its part of the one registry.

How the soul behaves: the mental processes, a file each. They name each other, but import none.
"""

from __future__ import annotations

import hashlib
import inspect
import pkgutil
import re
import runpy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from daemon.actions.action import ActionDefinition
from daemon.actions.function import ActionDependencies, ActionFunction, Expert
from daemon.actions.registry import ActionRegistry
from daemon.answers.choice import DONE
from daemon.errors import UNLOADED, escaped_line, unloadable_reason
from daemon.inner_life.commands.cycle_commands import cycle_commands, file_commands, help_command
from daemon.inner_life.commands.memory_commands import note_commands, record_commands
from daemon.inner_life.commands.message_commands import mesh_commands, message_commands
from daemon.inner_life.commands.program_commands import make_branch_programs, program_commands
from daemon.inner_life.recipients import RecipientDirectory, make_record_sharer
from daemon.inner_life.tick_log import InnerLifeState
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
    SOUL_TEXT,
    WHEN_FOLDER,
    WORDING,
    PromptCatalogue,
    are_prompt_texts,
)
from daemon.prompts.prompt_catalogue import PLAYBOOK_NAME as PLAIN
from daemon.reading.read_deeply import read_deeply
from daemon.settings.home import project_root, read_text_file
from daemon.settings.limits import INNER, AllowedProgram, InnerLimits


def prompt_catalogue(processes: Iterable[object], *more: Mapping[str, Placeholders]) -> PromptCatalogue:
    """The texts of the soul, with those that these processes need, and `more`."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandDependencies:
    """What the inner life has to do with: what it knows, whom it reaches, and what its owner gave it.

    `meetings`: how many messages to and from other bots there may be in a UTC day.
    """

    state: InnerLifeState
    reach: RecipientDirectory
    limits: InnerLimits = INNER
    meetings: int = 20
    library: Library | None = None
    recipes: Mapping[str, AllowedProgram] = field(default_factory=dict)


def make_commands(means: CommandDependencies) -> Sequence[ActionDefinition]:
    """All of them; without the owner's folders there are none for files."""
    state = means.state
    own = make_branch_programs(folders=means.library is not None)
    found = [
        *note_commands(state.notes),
        *record_commands(state.records),
        *program_commands(state.processes, means.recipes, own),
        *cycle_commands(means.limits.pause, state.processes),
    ]
    if means.library:
        found += file_commands(means.library)
    found += message_commands(means.reach, daily=means.limits.messages)
    found += mesh_commands(means.reach, make_record_sharer(state.records), daily=means.meetings)
    return found


def all_commands(nothing: Any) -> Sequence[ActionDefinition]:
    """All that there could be, only to be described: `nothing` stands for what they would work with."""
    return make_commands(CommandDependencies(state=nothing, reach=nothing, library=nothing))


class CurrentSoulName:
    """The soul's name as soul.md says it at each call; the last good one where that cannot be read."""

    def __init__(self) -> None:
        self._good = soul_name_in("")

    def __call__(self) -> str:
        with suppress(ValueError):
            text = read_text_file(project_root() / f"{SOUL_TEXT}.md")
            if text.strip():
                self._good = soul_name_in(text)
        return self._good


def soul_name() -> str:
    """The same, once; where it cannot be read, the start says why."""
    return CurrentSoulName()()


COMMAND = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""What may stand after the `!` of a command."""


STOP = "stop"


PACKAGE = "daemon.processes"
"""The package of which each module is a process."""


def find_processes(package: str = PACKAGE) -> tuple[Mapping[str, MentalProcess], Mapping[str, Sequence[str]]]:
    """What the files of this package say: name to process; and of each file that can be none, why not."""
    processes: dict[str, MentalProcess] = {}
    files: dict[str, str] = {}
    faults: dict[str, Sequence[str]] = {}
    for folder in import_module(package).__path__:
        for file in pkgutil.iter_modules([folder]):
            try:
                module = import_module(f"{package}.{file.name}")
            except UNLOADED as error:
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
    """Why this can be no process, and what to do."""
    if not isinstance(process, MentalProcess):
        yield "it holds no process: write `PROCESS = MentalProcess(…)` at its end, or take it away"
        return
    if not PLAIN.fullmatch(str(process.name)):
        yield f"{process.name!r} is no name for a process: use a-z, 0-9 and _ alone, a letter first"
    ways = (process.run, type(process.run).__call__)
    if not any(map(inspect.iscoroutinefunction, ways)):
        yield "its function does not wait: write `async def`"
    for name, given in (("leads_to", process.leads_to), ("commands", process.commands)):
        if isinstance(given, str):
            yield f'`{name}` is a text where a tuple belongs: write `{name}=("{given}",)`, with the comma'
    if not isinstance(process.commands, str):
        yield from filter(None, map(_command_fault, process.commands))
    if not are_prompt_texts(process.texts):
        yield 'its `texts` name no `Placeholders`: write `texts={"prompts/…": Placeholders()}`'


def _command_fault(command: object) -> str:
    """Say why nobody can write this command; empty where people can."""
    if command == STOP:
        return "`!stop` ends what goes on and reaches no process: take another word"
    if isinstance(command, str) and COMMAND.fullmatch(command):
        return ""
    return f"{command!r} is no command: write the word alone, without `!`, in small letters"


PROCESSES, PROCESS_FAULTS = find_processes()
"""Everything in fixed steps, as it is without the ISM; and of each file that can be no process, why not."""


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
    means: ActionDependencies, own: Sequence[ActionFunction] = (), inner: Sequence[ActionDefinition] = ()
) -> ActionRegistry:
    """All that can work by these means, with the owner's `own` actions and the `inner` life's commands."""
    found = [one.definition(means) for one in (*BUILT_IN, *own) if one.works_with(means)]
    return ActionRegistry([*found, help_command(inner), *inner])


class PlaceholderDependency:
    """Stands for what actions and commands work with, for whoever only reads what they are called."""

    def __getattr__(self, name: str) -> Any:
        return self


def all_actions(own: Sequence[ActionFunction] = ()) -> ActionRegistry:
    """All that there could be: for checks and documents."""
    nothing: Any = PlaceholderDependency()
    means = ActionDependencies(
        memories=nothing, library=nothing, shelf=nothing, expert=Expert(True), soul_home=nothing
    )
    return make_registry(means, own, all_commands(nothing))


ACTIONS = "actions/"
"""The folder, beside `playbooks/`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerActions:
    """The actions of the owner's that can be offered; and of each file or action that cannot, why not."""

    actions: Sequence[ActionFunction] = ()
    faults: Mapping[str, Sequence[str]] = field(default_factory=dict)


class OwnFiles:
    """The Python files of this folder's `actions/`, as they stand when this is made: just before a read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / ACTIONS
        self._read = self._now()

    @property
    def changed(self) -> list[str]:
        """A sentence for each that was changed, added or taken away since."""
        before, now = self._read, self._now()
        return [
            f"{ACTIONS}{name} was changed after the start: start the daemon anew to use it as it is now;"
            " `python -m daemon check` says whether it can be used."
            for name in sorted(before.keys() | now.keys())
            if before.get(name) != now.get(name)
        ]

    def _now(self) -> Mapping[str, bytes]:
        """The digest of each by its name; what cannot be read counts as empty."""
        found = {}
        for file in self._folder.glob("[!.]*.py"):
            content = b""
            with suppress(OSError):
                if file.is_file():  # a pipe would wait for a writer
                    content = file.read_bytes()
            found[escaped_line(file.name)] = hashlib.sha256(content).digest()
        return found


def find_owner_actions(folder: Path) -> OwnerActions:
    """What stands in this folder's `actions/`, in the order of the files."""
    actions: list[ActionFunction] = []
    faults: dict[str, Sequence[str]] = {}
    known = all_actions()
    taken = {name.casefold() for name in (DONE, *known.named, *known.known)}
    for file in sorted((folder / ACTIONS).glob("[!._]*.py")):
        name = f"{ACTIONS}{file.stem}"
        try:
            found = _in(file)
        except UNLOADED as error:
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
    """These, and what stands in this folder's `actions/`, but for what is called as one of the owner's."""
    taken = {one.name.casefold() for one in own.actions}
    samples = [one for one in find_owner_actions(folder).actions if one.name.casefold() not in taken]
    return replace(own, actions=[*own.actions, *samples])


def _in(file: Path) -> Sequence[ActionFunction]:
    """What is defined in this file, as it stands now."""
    names = runpy.run_path(str(file), run_name=f"{ACTIONS}{file.stem}")
    return [one for one in names.values() if isinstance(one, ActionFunction)]
