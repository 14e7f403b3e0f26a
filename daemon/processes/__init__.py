"""How the soul behaves: the mental processes, a file each. They name each other, but import none."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module

from daemon.actions.registry import Registry
from daemon.actions.run import Player
from daemon.actions.shelf import Shelf
from daemon.mind.playbook import PLAYBOOKS
from daemon.mind.wording import WHEN
from daemon.ports import Role
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
EXPERT = "expert"
"""The playbook that only Escalate leads to, with a model of its own."""


def found() -> Mapping[str, MentalProcess]:
    """What the files here say: name to process. Raises ValueError where two have one name."""
    processes: dict[str, MentalProcess] = {}
    for file in pkgutil.iter_modules(__path__):
        process: MentalProcess = import_module(f"{__name__}.{file.name}").PROCESS
        if process.name in processes:
            raise ValueError(f"{file.name}.py: there is a process {process.name} already")
        processes[process.name] = process
    return processes


PROCESSES = found()
"""Everything in fixed steps, as it is without the ISM."""


def thinking(
    processes: Mapping[str, MentalProcess], registry: Registry, capacity: str
) -> Mapping[str, MentalProcess]:
    """All of these, where open thought has these actions and goes so far."""
    run = Deliberation(registry=registry, capacity=capacity)
    return {**processes, DELIBERATION: replace(processes[DELIBERATION], run=run)}


def reading(processes: Mapping[str, MentalProcess], shelf: Shelf) -> Mapping[str, MentalProcess]:
    """All of these, where what people share can be read."""
    return {**processes, DEEP_READING: replace(processes[DEEP_READING], run=DeepReading(shelf=shelf))}


def living(processes: Mapping[str, MentalProcess], life: Life) -> Mapping[str, MentalProcess]:
    """All of these, where the soul thinks on its own, too."""
    return {**processes, INNER_LIFE: replace(processes[INNER_LIFE], run=InnerLife(life=life))}


def remembering(processes: Mapping[str, Process], notes: Notes) -> Mapping[str, Process]:
    """All of these, where people can see what is noted about them, and have it forgotten."""
    return {**processes, REMEMBERING: replace(PROCESSES[REMEMBERING], run=Remembering(notes=notes))}


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
        known = process if isinstance(process, MentalProcess) else PROCESSES.get(name)
        if known and known.when:
            sources.append(f"{WHEN}{name}")
        if name == DELIBERATION and not iterates:
            sources = [ASKED]
        if sources:
            ways[name] = tuple(sources)
    return ways
