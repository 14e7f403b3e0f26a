"""How the soul behaves: the mental processes, a file each. They name each other, but import none."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from daemon.actions.registry import Registry
from daemon.actions.run import Player
from daemon.actions.sources import Shelf
from daemon.errors import UNLOADED, unloaded
from daemon.mind.playbook import NAME as PLAIN
from daemon.mind.playbook import PLAYBOOKS
from daemon.mind.wording import WHEN, are_texts
from daemon.ports import Library, Role
from daemon.process import MentalProcess, Process
from daemon.processes.deep_reading import NAME as DEEP_READING
from daemon.processes.deep_reading import DeepReading
from daemon.processes.deliberation import ASKED, Deliberation
from daemon.processes.deliberation import NAME as DELIBERATION
from daemon.processes.inner_life import NAME as INNER_LIFE
from daemon.processes.inner_life import InnerLife, Life
from daemon.processes.remembering import NAME as REMEMBERING
from daemon.processes.remembering import Notes, Remembering

INITIAL = "conversation"
"""Where every thread begins."""
COMMAND = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""What may stand after the `!` of a command."""
STOP = "stop"
EXPERT = "expert"
"""The playbook that only Escalate leads to, with a model of its own."""
PACKAGE = "daemon.processes"
"""The package of which each module is a process."""


def found(package: str = PACKAGE) -> tuple[Mapping[str, MentalProcess], Mapping[str, Sequence[str]]]:
    """What the files of this package say: name to process; and of each file that can be none, why not."""
    processes: dict[str, MentalProcess] = {}
    files: dict[str, str] = {}
    faults: dict[str, Sequence[str]] = {}
    for folder in import_module(package).__path__:
        for file in pkgutil.iter_modules([folder]):
            try:
                module = import_module(f"{package}.{file.name}")
            except UNLOADED as error:
                said = unloaded(error, Path(folder, f"{file.name}.py"))
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
    for name, given in (("leads", process.leads_to), ("commands", process.commands)):
        if isinstance(given, str):
            yield f'`{name}` is a text where a tuple belongs: write `{name}=("{given}",)`, with the comma'
    if not isinstance(process.commands, str):
        yield from filter(None, map(_command_fault, process.commands))
    if not are_texts(process.texts):
        yield 'its `texts` name no `Words`: write `texts={"prompts/…": Words()}`'


def _command_fault(command: object) -> str:
    """Say why nobody can write this command; empty where people can."""
    if command == STOP:
        return "`!stop` ends what goes on and reaches no process: take another word"
    if isinstance(command, str) and COMMAND.fullmatch(command):
        return ""
    return f"{command!r} is no command: write the word alone, without `!`, in small letters"


PROCESSES, FAULTS = found()
"""Everything in fixed steps, as it is without the ISM; and of each file that can be no process, why not."""


def thinking(
    processes: Mapping[str, MentalProcess], registry: Registry, capacity: str
) -> Mapping[str, MentalProcess]:
    """All of these, where open thought has these actions and goes so far."""
    run = Deliberation(registry=registry, capacity=capacity)
    return {**processes, DELIBERATION: replace(processes[DELIBERATION], run=run)}


def reading(
    processes: Mapping[str, MentalProcess], shelf: Shelf, folders: Library | None
) -> Mapping[str, MentalProcess]:
    """All of these, where what people share can be read, and what stands in the owner's folders."""
    run = DeepReading(shelf=shelf, folders=folders)
    return {**processes, DEEP_READING: replace(processes[DEEP_READING], run=run)}


def living(processes: Mapping[str, MentalProcess], life: Life) -> Mapping[str, MentalProcess]:
    """All of these, where the soul thinks on its own, too."""
    return {**processes, INNER_LIFE: replace(processes[INNER_LIFE], run=InnerLife(life=life))}


def remembering(processes: Mapping[str, Process], notes: Notes, *, local: bool) -> Mapping[str, Process]:
    """All of these, where people can see what is noted about them, and have it forgotten.

    `local`: the workspace is rehearsed, and forgets as well.
    """
    run = Remembering(notes=notes, local=local)
    return {**processes, REMEMBERING: replace(PROCESSES[REMEMBERING], run=run)}


def played(
    known: Mapping[str, MentalProcess], player: Player, playbooks: Iterable[str], *, expert: bool
) -> Mapping[str, MentalProcess]:
    """These processes, where those that have a playbook find their own way.

    `expert`: is there a model for the expert?
    """
    roles: dict[str, Role] = {name: "speak" for name in playbooks if name != DELIBERATION}
    if expert:
        roles[EXPERT] = "expert"
    processes = dict(known)
    for name, role in roles.items():
        run = player.process(name, role)
        fixed = processes.get(name, MentalProcess(name=name, run=run))
        processes[name] = replace(fixed, run=run)
    return processes


def offered(
    processes: Mapping[str, Process], playbooks: Iterable[str], *, iterates: bool = True
) -> Mapping[str, tuple[str, ...]]:
    """What one may go over into: name to the texts that say when, the first that does.

    A soul that does not iterate by itself thinks in the open only where it is asked to.
    """
    books = set(playbooks)
    ways: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys((INITIAL, *sorted(processes), *sorted(books))):
        sources = []
        if name in books:
            sources.append(f"{PLAYBOOKS}{name}")
        process = processes.get(name)
        if not isinstance(process, MentalProcess):
            process = PROCESSES.get(name)
        if process and process.when:
            sources.append(f"{WHEN}{name}")
        if name == DELIBERATION and not iterates:
            sources = [ASKED]
        if sources:
            ways[name] = tuple(sources)
    return ways
