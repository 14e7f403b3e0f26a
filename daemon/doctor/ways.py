"""What leads where, for `check`: what is never entered, never offered, or never agreed to."""

from __future__ import annotations

import ast
import graphlib
import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches

from daemon.actions.own import Own
from daemon.actions.registry import Registry
from daemon.doctor.finding import Finding, ill
from daemon.mind.playbook import PLAYBOOKS, Playbook
from daemon.process import MentalProcess
from daemon.processes import INITIAL

LEADS: Mapping[str, str] = {"Escalate": "expert"}
"""Actions that go over into a process by themselves."""


def misled(processes: Mapping[str, MentalProcess], known: Collection[str]) -> Iterator[Finding]:
    """Where a process goes over into that there is not."""
    for process in processes.values():
        for name in dict.fromkeys((*process.leads, *_gone_into(process))):
            if name not in known:
                yield ill(f"processes/{process.name}", f"there is no process {name}; {instead(name, known)}")


def unled(playbooks: Sequence[Playbook], processes: Mapping[str, MentalProcess]) -> Iterator[Finding]:
    """Processes and playbooks that are never entered."""
    entered = _entered(playbooks, processes)
    for name in processes:
        if name not in entered:
            said = "nothing leads to it: say in its file when one goes there, or take the file away"
            yield ill(f"processes/{name}", said)
    for one in playbooks:
        if one.name not in entered and one.name not in processes:
            said = "nothing leads to it: write `when: …` into its front matter, or take the file away"
            yield ill(f"{PLAYBOOKS}{one.name}", said)


def _gone_into(process: MentalProcess) -> Iterator[str]:
    """The processes that `Transition(to="…")` names in this one's file, where it has one."""
    module = inspect.getmodule(process.run)
    if module is None or getattr(module, "PROCESS", None) is not process:
        return
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Transition":
            for given in node.keywords:
                if given.arg == "to" and isinstance(given.value, ast.Constant):
                    yield str(given.value.value)


def _entered(playbooks: Sequence[Playbook], processes: Mapping[str, MentalProcess]) -> Collection[str]:
    """Where a thread can come to: from its first process, and from what the model or the daemon chooses."""
    goes: dict[str, set[str]] = {name: set(process.leads) for name, process in processes.items()}
    for one in playbooks:
        goes.setdefault(one.name, set()).update((*one.transitions, one.then, *led_to(one)))
    chosen = [name for name, process in processes.items() if process.when or process.called]
    coming = [INITIAL, *chosen, *(one.name for one in playbooks if one.when)]
    entered: set[str] = set()
    while coming:
        name = coming.pop()
        if name not in entered:
            entered.add(name)
            coming.extend(goes.get(name, ()))
    return entered


def undescribed(registry: Registry, processes: Mapping[str, MentalProcess]) -> Iterator[Finding]:
    """What nobody could tell the use of."""
    for action in (*registry.named.values(), *registry.commands):
        if not action.description.strip():
            yield ill(action.name, "it is not described: write a sentence by which the model chooses it")
    for process in processes.values():
        if not inspect.getdoc(process.run):
            yield ill(f"processes/{process.name}", "it is not described: give its function a docstring")


def unoffered(playbooks: Sequence[Playbook], own: Own, known: Collection[str]) -> Iterator[Finding]:
    """The owner's actions that cannot be read, or that none of the `known` playbooks offers."""
    for name, faults in own.faults.items():
        yield from (ill(name, said) for said in faults)
    named = {name for one in playbooks for name in one.actions}
    for action in own.actions:
        for name in action.playbooks:
            if name not in known:
                yield ill(action.name, f"there is no playbook {name}; {instead(name, known)}")
        if not action.playbooks and action.name not in named:
            said = f"no playbook offers it: write {action.name} into the `actions` of one"
            yield ill(action.name, f"{said}, or say in its file which (`playbooks=[…]`)")


def unapproved(playbooks: Sequence[Playbook], registry: Registry) -> Iterator[Finding]:
    """What needs the yes of an owner, where there is none."""
    for one in playbooks:
        names = [action.name for action in registry.offered(one) if action.approval]
        if names:
            said = f"nobody can agree to {', '.join(names)}: set OWNER_USER_IDS, or do not offer it"
            yield ill(f"{PLAYBOOKS}{one.name}", said)


def circles(playbooks: Sequence[Playbook]) -> Iterator[Sequence[str]]:
    """Ways from playbook to playbook that come back to where they began."""
    goes = {one.name: {*one.transitions, *led_to(one)} for one in playbooks}
    hands = {one.name for one in playbooks if one.name not in LEADS.values()}
    goes |= dict.fromkeys(("conversation", "greeting"), hands)  # what a conversation may go over into
    while True:
        try:
            graphlib.TopologicalSorter(goes).prepare()
        except graphlib.CycleError as error:
            # The sorter takes where one goes for what comes before it, and so tells the way backwards.
            circle = error.args[1][::-1]
            yield circle
            goes[circle[0]].discard(circle[1])
        else:
            return


def led_to(one: Playbook) -> Sequence[str]:
    """Where its actions go over into."""
    return [LEADS[name] for name in one.actions if name in LEADS]


def instead(name: str, known: Collection[str]) -> str:
    """What might have been meant."""
    alike = get_close_matches(name, known, n=1)
    return f"is it {alike[0]}?" if alike else f"there are {', '.join(sorted(known))}"
