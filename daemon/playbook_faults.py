"""Faults of a text or a process that is sound by itself: names of actions and processes that there are not,
and commands that no process answers, or two.

For the running daemon, which keeps the version before, and for `check`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import get_args

from daemon.actions.registry import Registry
from daemon.kinds import MessageCommand
from daemon.mind.playbook import PLAYBOOKS, Playbook
from daemon.mind.system_text import conditions
from daemon.process import MentalProcess
from daemon.processes import DELIBERATION, EXPERT, STOP

ESCALATE = "Escalate"
"""The action that goes over into a process by itself: into EXPERT."""
LONGEST_NAME = 60
"""Characters of a name from a file that are shown: it may be anything."""


def playbook_faults(
    one: Playbook, registry: Registry, processes: Mapping[str, MentalProcess], known: Collection[str]
) -> Iterator[str]:
    """Yield a sentence for each name that there is not, for lack of an end, and for one that nobody reads.

    `registry` holds every action that there could be, `known` the names of all processes and playbooks.
    """
    actions = registry.named
    for name in one.actions:
        if name not in actions:
            yield f"there is no action {_short(name)}; {instead(name, actions)}"
    for name in dict.fromkeys((*one.transitions, one.then)):
        if name not in known:
            yield f"there is no process {_short(name)}; {instead(name, known)}"
    offered = registry.offered_by(one)
    leads_on = one.name == DELIBERATION or goes_to(one)  # open thought ends by its final answer
    if not leads_on and not any(action.terminal for action in offered):
        ends = [name for name, action in actions.items() if action.terminal]
        yield f"it has no way to end: offer {' or '.join(ends)}, or write a transition"
    process = processes.get(one.name)
    if process and f"{PLAYBOOKS}{one.name}" not in process.texts:
        yield f"{one.name} has fixed steps and takes no playbook: give the file another name"


def command_faults(processes: Mapping[str, MentalProcess]) -> Iterator[tuple[str, str]]:
    """Yield each command that not exactly one process answers, and what to do about it."""
    recorded = [command for command in get_args(MessageCommand) if command not in ("", STOP)]
    answering: dict[str, list[str]] = {command: [] for command in recorded}
    for name, process in processes.items():
        for command in dict.fromkeys(process.commands):
            answering.setdefault(command, []).append(name)
    for command, names in answering.items():
        if not names:
            yield (
                f"!{command}",
                f'no process answers it: write `commands=("{command}",)` into the one that does',
            )
        elif len(names) > 1:
            yield f"!{command}", f"{' and '.join(names)} both answer it: leave it to one of them"


def ability_faults(text: str, registry: Registry, known: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each process or action that a line of what the soul can do names in vain."""
    there = {*registry.named, *known}
    for name in conditions(text):
        if name not in there:
            yield f"there is no process or action {_short(name)}; {instead(name, there)}"


def goes_to(one: Playbook) -> Sequence[str]:
    """List the processes that it goes over into, by its transitions and by its actions."""
    goes = [*one.transitions]
    if ESCALATE in one.actions:
        goes.append(EXPERT)
    return goes


def instead(name: str, known: Collection[str]) -> str:
    """Suggest what might have been meant, or all that may be."""
    return meant(name, known) or f"there are {', '.join(sorted(known))}"


def meant(name: str, known: Collection[str]) -> str:
    """Suggest what might have been meant; empty where nothing is alike."""
    alike = get_close_matches(name, known, n=1)
    if not alike:
        return ""
    return f"is it {alike[0]}?"


def _short(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}…"
