"""What leads where, for `check`: what is never entered, never offered, or never agreed to."""

from __future__ import annotations

import ast
import graphlib
import inspect
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from daemon.actions.own import OwnerActions
from daemon.actions.registry import ActionRegistry
from daemon.doctor.finding import Finding, ill_finding
from daemon.mind.playbook import PLAYBOOK_FOLDER, Playbook
from daemon.playbook_faults import command_faults, suggest_or_list, target_processes
from daemon.process import MentalProcess
from daemon.processes import EXPERT_PROCESS, INITIAL_PROCESS


def unknown_targets(processes: Mapping[str, MentalProcess], known: Collection[str]) -> Iterator[Finding]:
    """Where a process goes over into that there is not."""
    for process in processes.values():
        for name in dict.fromkeys((*process.leads_to, *_transition_targets(process))):
            if name not in known:
                yield ill_finding(
                    f"processes/{process.name}", f"there is no process {name}; {suggest_or_list(name, known)}"
                )


def unreachable_texts(
    playbooks: Sequence[Playbook], processes: Mapping[str, MentalProcess]
) -> Iterator[Finding]:
    """Processes and playbooks that are never entered."""
    entered = _reachable_names(playbooks, processes)
    for name in processes:
        if name not in entered:
            said = "nothing leads to it: say in its file when one goes there, or take the file away"
            yield ill_finding(f"processes/{name}", said)
    for one in playbooks:
        if one.name not in entered and one.name not in processes:
            said = "nothing leads to it: write `when: …` into its front matter, or take the file away"
            yield ill_finding(f"{PLAYBOOK_FOLDER}{one.name}", said)


def unanswered(processes: Mapping[str, MentalProcess]) -> Iterator[Finding]:
    """Yield a finding for each command that not exactly one process answers."""
    for command, said in command_faults(processes):
        yield ill_finding(command, said)


def _transition_targets(process: MentalProcess) -> Iterator[str]:
    """The processes that `Transition(to="…")` or a returned `[memory, "…", {…}]` names in this one's file."""
    module = inspect.getmodule(process.run)
    if module is None or getattr(module, "PROCESS", None) is not process:
        return
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Transition":
            for given in node.keywords:
                if given.arg == "to" and isinstance(given.value, ast.Constant):
                    yield str(given.value.value)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.List | ast.Tuple):
            match node.value.elts:
                case [_, ast.Constant(value=str(name)), ast.Dict()]:
                    yield name


def _reachable_names(
    playbooks: Sequence[Playbook], processes: Mapping[str, MentalProcess]
) -> Collection[str]:
    """Where a thread can come to: from its first process, and from what the model or the daemon chooses."""
    goes: defaultdict[str, list[str]] = defaultdict(list)
    for name, process in processes.items():
        goes[name] += process.leads_to
    for one in playbooks:
        goes[one.name] += (*target_processes(one), one.then)
    coming = [INITIAL_PROCESS]
    coming += [name for name, one in processes.items() if one.when or one.commands or one.called]
    coming += [one.name for one in playbooks if one.when]
    entered: set[str] = set()
    while coming:
        name = coming.pop()
        if name not in entered:
            entered.add(name)
            coming += goes[name]
    return entered


def undescribed_actions(
    registry: ActionRegistry, processes: Mapping[str, MentalProcess]
) -> Iterator[Finding]:
    """What nobody could tell the use of."""
    for action in (*registry.named.values(), *registry.commands):
        if not action.description.strip():
            yield ill_finding(
                action.name, "it is not described: write a sentence by which the model chooses it"
            )
    for process in processes.values():
        if not inspect.getdoc(process.run):
            yield ill_finding(
                f"processes/{process.name}", "it is not described: give its function a docstring"
            )


def unoffered_actions(
    playbooks: Sequence[Playbook], own: OwnerActions, known: Collection[str]
) -> Iterator[Finding]:
    """The owner's actions that cannot be read, or that none of the `known` playbooks offers."""
    for name, faults in own.faults.items():
        for said in faults:
            yield ill_finding(name, said)
    named: set[str] = set()
    for one in playbooks:
        named.update(one.actions)
    for action in own.actions:
        for name in action.playbooks:
            if name not in known:
                yield ill_finding(action.name, f"there is no playbook {name}; {suggest_or_list(name, known)}")
        if not action.playbooks and action.name not in named:
            said = f"no playbook offers it: write {action.name} into the `actions` of one"
            yield ill_finding(action.name, f"{said}, or say in its file which (`playbooks=[…]`)")


def approvals_without_owner(playbooks: Sequence[Playbook], registry: ActionRegistry) -> Iterator[Finding]:
    """What needs the yes of an owner, where there is none."""
    for one in playbooks:
        approved = [action.name for action in registry.offered_by(one) if action.approval]
        if approved:
            said = f"nobody can agree to {', '.join(approved)}: set OWNER_USER_IDS, or do not offer it"
            yield ill_finding(f"{PLAYBOOK_FOLDER}{one.name}", said)


def playbook_cycles(playbooks: Sequence[Playbook]) -> Iterator[Finding]:
    """Ways from playbook to playbook that come back to where they began."""
    goes: dict[str, set[str]] = {}
    hands: set[str] = set()
    for one in playbooks:
        goes[one.name] = set(target_processes(one))
        if one.name != EXPERT_PROCESS:
            hands.add(one.name)
    goes |= dict.fromkeys(("conversation", "greeting"), hands)  # what a conversation may go over into
    while True:
        try:
            graphlib.TopologicalSorter(goes).prepare()
        except graphlib.CycleError as error:
            # The sorter takes where one goes for what comes before it, and so tells the way backwards.
            circle = error.args[1][::-1]
            said = f"{' → '.join(circle)}: they hand it to each other for ever; take one transition away"
            yield ill_finding(f"{PLAYBOOK_FOLDER}{circle[0]}", said)
            goes[circle[0]].discard(circle[1])
        else:
            return
