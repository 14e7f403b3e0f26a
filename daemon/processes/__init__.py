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

from daemon.actions.registry import ActionRegistry
from daemon.actions.run import PlaybookPlayer
from daemon.actions.sources import SourceProvider
from daemon.errors import UNLOADED, unloadable_reason
from daemon.mind.playbook import PLAYBOOK_FOLDER
from daemon.mind.playbook import PLAYBOOK_NAME as PLAIN
from daemon.mind.wording import WHEN_FOLDER, are_prompt_texts
from daemon.ports import Library, Role
from daemon.process import MentalProcess, Process
from daemon.processes.deep_reading import DEEP_READING_PROCESS, DeepReadingProcess
from daemon.processes.deliberation import DELIBERATION_PROCESS, SELF_CALL_TEXT, DeliberationProcess
from daemon.processes.inner_life import INNER_LIFE_PROCESS, InnerLifeProcess, InnerLifeSetup
from daemon.processes.remembering import REMEMBERING_PROCESS, PersonNoteSource, RememberingProcess

INITIAL_PROCESS = "conversation"
"""Where every thread begins."""
COMMAND = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""What may stand after the `!` of a command."""
STOP = "stop"
EXPERT_PROCESS = "expert"
"""The playbook that only Escalate leads to, with a model of its own."""
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
    for name, given in (("leads", process.leads_to), ("commands", process.commands)):
        if isinstance(given, str):
            yield f'`{name}` is a text where a tuple belongs: write `{name}=("{given}",)`, with the comma'
    if not isinstance(process.commands, str):
        yield from filter(None, map(_command_fault, process.commands))
    if not are_prompt_texts(process.texts):
        yield 'its `texts` name no `Words`: write `texts={"prompts/…": Words()}`'


def _command_fault(command: object) -> str:
    """Say why nobody can write this command; empty where people can."""
    if command == STOP:
        return "`!stop` ends what goes on and reaches no process: take another word"
    if isinstance(command, str) and COMMAND.fullmatch(command):
        return ""
    return f"{command!r} is no command: write the word alone, without `!`, in small letters"


PROCESSES, PROCESS_FAULTS = find_processes()
"""Everything in fixed steps, as it is without the ISM; and of each file that can be no process, why not."""


def with_open_thought(
    processes: Mapping[str, MentalProcess], registry: ActionRegistry, capacity: str
) -> Mapping[str, MentalProcess]:
    """All of these, where open thought has these actions and goes so far."""
    run = DeliberationProcess(registry=registry, capacity=capacity)
    return {**processes, DELIBERATION_PROCESS: replace(processes[DELIBERATION_PROCESS], run=run)}


def with_deep_reading(
    processes: Mapping[str, MentalProcess], shelf: SourceProvider, folders: Library | None
) -> Mapping[str, MentalProcess]:
    """All of these, where what people share can be read, and what stands in the owner's folders."""
    run = DeepReadingProcess(shelf=shelf, folders=folders)
    return {**processes, DEEP_READING_PROCESS: replace(processes[DEEP_READING_PROCESS], run=run)}


def with_inner_life(
    processes: Mapping[str, MentalProcess], life: InnerLifeSetup
) -> Mapping[str, MentalProcess]:
    """All of these, where the soul thinks on its own, too."""
    return {
        **processes,
        INNER_LIFE_PROCESS: replace(processes[INNER_LIFE_PROCESS], run=InnerLifeProcess(life=life)),
    }


def with_person_notes(
    processes: Mapping[str, Process], notes: PersonNoteSource, *, local: bool
) -> Mapping[str, Process]:
    """All of these, where people can see what is noted about them, and have it forgotten.

    `local`: the workspace is rehearsed, and forgets as well.
    """
    run = RememberingProcess(notes=notes, local=local)
    return {**processes, REMEMBERING_PROCESS: replace(PROCESSES[REMEMBERING_PROCESS], run=run)}


def with_playbooks(
    known: Mapping[str, MentalProcess], player: PlaybookPlayer, playbooks: Iterable[str], *, expert: bool
) -> Mapping[str, MentalProcess]:
    """These processes, where those that have a playbook find their own way.

    `expert`: is there a model for the expert?
    """
    roles: dict[str, Role] = {name: "speak" for name in playbooks if name != DELIBERATION_PROCESS}
    if expert:
        roles[EXPERT_PROCESS] = "expert"
    processes = dict(known)
    for name, role in roles.items():
        run = player.process(name, role)
        fixed = processes.get(name, MentalProcess(name=name, run=run))
        processes[name] = replace(fixed, run=run)
    return processes


def offered_processes(
    processes: Mapping[str, Process], playbooks: Iterable[str], *, iterates: bool = True
) -> Mapping[str, tuple[str, ...]]:
    """What one may go over into: name to the texts that say when, the first that does.

    A soul that does not iterate by itself thinks in the open only where it is asked to.
    """
    books = set(playbooks)
    ways: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys((INITIAL_PROCESS, *sorted(processes), *sorted(books))):
        sources = []
        if name in books:
            sources.append(f"{PLAYBOOK_FOLDER}{name}")
        process = processes.get(name)
        if not isinstance(process, MentalProcess):
            process = PROCESSES.get(name)
        if process and process.when:
            sources.append(f"{WHEN_FOLDER}{name}")
        if name == DELIBERATION_PROCESS and not iterates:
            sources = [SELF_CALL_TEXT]
        if sources:
            ways[name] = tuple(sources)
    return ways
