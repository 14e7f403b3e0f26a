"""Faults of a text or a process that is sound by itself: names of actions and processes that there are not,
and commands that no process answers, or two.

For the running daemon, which keeps the version before, and for `check`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import get_args

from daemon.actions.registry import ActionRegistry
from daemon.kinds import MessageCommand
from daemon.mind.playbook import PLAYBOOK_FOLDER, Playbook
from daemon.mind.system_text import condition_names
from daemon.process import MentalProcess
from daemon.processes import DELIBERATION_PROCESS, EXPERT_PROCESS, STOP

ESCALATE = "Escalate"
"""The action that goes over into a process by itself: into EXPERT."""
LONGEST_NAME = 60
"""Characters of a name from a file that are shown: it may be anything."""


def playbook_faults(
    one: Playbook, registry: ActionRegistry, processes: Mapping[str, MentalProcess], known: Collection[str]
) -> Iterator[str]:
    """Yield a sentence for each name that there is not, for lack of an end, and for one that nobody reads.

    `registry` holds every action that there could be, `known` the names of all processes and playbooks.
    """
    actions = registry.named
    for name in one.actions:
        if name not in actions:
            yield f"there is no action {_short(name)}; {suggest_or_list(name, actions)}"
    for name in dict.fromkeys((*one.transitions, one.then)):
        if name not in known:
            yield f"there is no process {_short(name)}; {suggest_or_list(name, known)}"
    offered = registry.offered_by(one)
    leads_on = one.name == DELIBERATION_PROCESS or target_processes(
        one
    )  # open thought ends by its final answer
    if not leads_on and not any(action.terminal for action in offered):
        ends = [name for name, action in actions.items() if action.terminal]
        yield f"it has no way to end: offer {' or '.join(ends)}, or write a transition"
    process = processes.get(one.name)
    if process and f"{PLAYBOOK_FOLDER}{one.name}" not in process.texts:
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


def ability_faults(text: str, registry: ActionRegistry, known: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each process or action that a line of what the soul can do names in vain."""
    there = {*registry.named, *known}
    for name in condition_names(text):
        if name not in there:
            yield f"there is no process or action {_short(name)}; {suggest_or_list(name, there)}"


def target_processes(one: Playbook) -> Sequence[str]:
    """List the processes that it goes over into, by its transitions and by its actions."""
    goes = [*one.transitions]
    if ESCALATE in one.actions:
        goes.append(EXPERT_PROCESS)
    return goes


def suggest_or_list(name: str, known: Collection[str]) -> str:
    """Suggest what might have been meant, or all that may be."""
    return suggest_name(name, known) or f"there are {', '.join(sorted(known))}"


def suggest_name(name: str, known: Collection[str]) -> str:
    """Suggest what might have been meant; empty where nothing is alike."""
    alike = get_close_matches(name, known, n=1)
    if not alike:
        return ""
    return f"is it {alike[0]}?"


def _short(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}…"
