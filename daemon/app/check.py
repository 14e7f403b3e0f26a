"""Checks of the owner's texts, actions and processes: faults, unreachable parts, unknown names.

`python -m daemon check` needs no key, journal or network, but executes the owner's action files.
"""

from __future__ import annotations

import ast
import fnmatch
import functools
import graphlib
import inspect
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import get_args

from config import Settings
from daemon.actions.registry import ActionRegistry
from daemon.app.discovery import (
    PROCESS_FAULTS,
    PROCESSES,
    STOP,
    OwnerActions,
    all_actions,
    find_owner_actions,
    prompt_catalogue,
)
from daemon.app.tool_configuration import read_tool_servers
from daemon.errors import escaped_line
from daemon.kinds import MessageCommand
from daemon.mind.steps import STEP_TEXTS
from daemon.process import MentalProcess
from daemon.prompts.prompt_catalogue import (
    ABILITIES_TEXT,
    PLAYBOOK_FOLDER,
    SERVED_TEXT,
    WORDING,
    Playbook,
    PromptCatalogue,
    condition_names,
    parse_playbook,
)
from daemon.sandbox.session import Kind, load_sandbox_class
from daemon.settings.home import read_text_file
from daemon.settings.mcp_file import MCP_FILE
from daemon.settings.mcp_servers import ToolServersFile
from daemon.settings.parse import ConfigError
from daemon.turn.input_policy import DELIBERATION_PROCESS, EXPERT_PROCESS, INITIAL_PROCESS

ESCALATE = "Escalate"
"""Action that leads to the expert process."""


LONGEST_NAME = 60
"""Most characters shown of a name from a file."""

GLOB = re.compile(r"[*?[]")


WILDCARD = re.compile(r"[*?\[]")


def playbook_faults(
    playbook: Playbook,
    registry: ActionRegistry,
    processes: Mapping[str, MentalProcess],
    known: Collection[str],
) -> Iterator[str]:
    """Yield a sentence for each unknown name, for a missing end, and for a playbook that is never read.

    `registry`: all possible actions. `known`: names of all processes and playbooks.
    """
    actions = registry.named
    for name in playbook.actions:
        if name not in actions and name not in playbook.tools:
            yield f"there is no action {_short(name)}; {suggest_or_list(name, actions)}"
    for name in dict.fromkeys((*playbook.transitions, playbook.then)):
        if name not in known:
            yield f"there is no process {_short(name)}; {suggest_or_list(name, known)}"
    offered = registry.offered_by(playbook)
    # open thought ends with its final answer
    leads_on = playbook.name == DELIBERATION_PROCESS or target_processes(playbook)
    if not leads_on and not any(action.terminal for action in offered):
        ends = [name for name, action in actions.items() if action.terminal]
        yield f"it has no way to end: offer {' or '.join(ends)}, or write a transition"
    process = processes.get(playbook.name)
    if process and f"{PLAYBOOK_FOLDER}{playbook.name}" not in process.texts:
        yield f"{playbook.name} has fixed steps and takes no playbook: give the file another name"


def unknown_servers(playbook: Playbook, servers: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each server whose tools a playbook names, and that mcp.json lacks."""
    named = dict.fromkeys(one.partition(".")[0] for one in playbook.tools)
    for name in named:
        if not fnmatch.filter(servers, name) and not WILDCARD.search(name):
            yield (
                f"mcp.json has no server {_short(name)}, so none of its tools is offered;"
                f" {suggest_name(name, servers) or 'write it there, or take them away'}"
            )


def command_faults(processes: Mapping[str, MentalProcess]) -> Iterator[tuple[str, str]]:
    """Yield (command, advice) for each message command that not exactly one process answers."""
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
    """Yield a sentence for each unknown process or action in the list of abilities."""
    there = {*registry.named, *known}
    for name in condition_names(text):
        if name not in there:
            yield f"there is no process or action {_short(name)}; {suggest_or_list(name, there)}"


def target_processes(playbook: Playbook) -> Sequence[str]:
    """Return the processes to which a playbook's transitions and actions lead."""
    goes = [*playbook.transitions]
    if ESCALATE in playbook.actions:
        goes.append(EXPERT_PROCESS)
    return goes


def suggest_or_list(name: str, known: Collection[str]) -> str:
    """Suggest a similar name, or list all known names."""
    return suggest_name(name, known) or f"there are {', '.join(sorted(known))}"


def suggest_name(name: str, known: Collection[str]) -> str:
    """Suggest a similar name; empty if there is none."""
    alike = get_close_matches(name, known, n=1)
    if not alike:
        return ""
    return f"is it {alike[0]}?"


def _short(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of a check; the text says the remedy if not `ok`.

    `doubtful`: the check cannot tell if there is a fault.
    """

    name: str
    said: str
    ok: bool = True
    doubtful: bool = False


def well_finding(name: str, said: str) -> Finding:
    return Finding(name=name, said=said)


def ill_finding(name: str, said: str) -> Finding:
    return Finding(name=name, said=said, ok=False)


def doubtful_finding(name: str, said: str) -> Finding:
    return Finding(name=name, said=said, doubtful=True)


def finding_line(finding: Finding, width: int = 10) -> str:
    """Format a finding as a line; the name takes `width` characters."""
    mark = "✓"
    if not finding.ok:
        mark = "✗"
    elif finding.doubtful:
        mark = "!"
    return f"{mark} {escaped_line(finding.name):<{width}} {escaped_line(finding.said)}"


def all_well(findings: Sequence[Finding]) -> bool:
    return all(finding.ok for finding in findings)


def unknown_targets(processes: Mapping[str, MentalProcess], known: Collection[str]) -> Iterator[Finding]:
    for process in processes.values():
        for name in dict.fromkeys((*process.leads_to, *_transition_targets(process))):
            if name not in known:
                yield ill_finding(
                    f"processes/{process.name}", f"there is no process {name}; {suggest_or_list(name, known)}"
                )


def unreachable_texts(
    playbooks: Sequence[Playbook], processes: Mapping[str, MentalProcess]
) -> Iterator[Finding]:
    """Yield a finding for each process or playbook to which nothing leads."""
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
    for command, said in command_faults(processes):
        yield ill_finding(command, said)


def _transition_targets(process: MentalProcess) -> Iterator[str]:
    module = inspect.getmodule(process.run)
    if module is not None and getattr(module, "PROCESS", None) is process:
        yield from _targets_in(inspect.getsource(module))


@functools.cache
def _targets_in(source: str) -> Sequence[str]:
    """Return targets of `Transition(to="…")` and of `[memory, "…", {…}]`."""
    return [*_find_targets(ast.parse(source))]


def _find_targets(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Transition":
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
    """Return the processes and playbooks that can be reached.

    The first process is reached, and so are those that the model, a command or the daemon may choose.
    """
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
    """Yield findings on the owner's actions that have a fault or that no playbook offers."""
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
    """Yield findings on playbooks whose actions need an owner's approval, for a soul without owner."""
    for one in playbooks:
        approved = [action.name for action in registry.offered_by(one) if action.approval]
        if approved:
            said = f"nobody can agree to {', '.join(approved)}: set OWNER_USER_IDS, or do not offer it"
            yield ill_finding(f"{PLAYBOOK_FOLDER}{one.name}", said)


def playbook_cycles(playbooks: Sequence[Playbook]) -> Iterator[Finding]:
    goes: dict[str, set[str]] = {}
    hands: set[str] = set()
    for one in playbooks:
        goes[one.name] = set(target_processes(one))
        if one.name != EXPERT_PROCESS:
            hands.add(one.name)
    goes |= dict.fromkeys(("conversation", "greeting"), hands)  # processes to which a conversation may lead
    while True:
        try:
            graphlib.TopologicalSorter(goes).prepare()
        except graphlib.CycleError as error:
            # The sorter reads targets as predecessors, so the cycle comes out reversed.
            circle = error.args[1][::-1]
            said = f"{' → '.join(circle)}: they hand it to each other for ever; take one transition away"
            yield ill_finding(f"{PLAYBOOK_FOLDER}{circle[0]}", said)
            goes[circle[0]].discard(circle[1])
        else:
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerCode:
    """The owner's code: processes and actions.

    `broken`: faults by process file. `owned`: the soul has an owner. `sandbox`: the setting RLM_SANDBOX.
    `servers`: the tool servers of mcp.json.
    """

    registry: ActionRegistry
    processes: Mapping[str, MentalProcess]
    broken: Mapping[str, Sequence[str]] = field(default_factory=dict)
    own: OwnerActions = field(default_factory=OwnerActions)
    owned: bool = True
    sandbox: str = ""
    servers: ToolServersFile = field(default_factory=ToolServersFile)


def find_owner_code(
    folder: Path, *, owned: bool, sandbox: str = "", mcp_config: Path | None = None
) -> OwnerCode:
    own = find_owner_actions(folder)
    return OwnerCode(
        registry=all_actions(own.actions),
        processes=PROCESSES,
        broken=PROCESS_FAULTS,
        own=own,
        owned=owned,
        sandbox=sandbox,
        servers=read_tool_servers(folder, mcp_config),
    )


def has_known_owner(settings: Settings) -> bool:
    """True if the soul has an owner; with the rehearsed model there always is one."""
    return bool(settings.owner_user_ids) or settings.claude == "rehearsed"


def check_texts(folder: Path, code: OwnerCode) -> int:
    """Print all findings; return exit status 1 if one is a fault."""
    findings = [*find_text_findings(folder, code)]
    width = max(len(one.name) for one in findings)
    for one in findings:
        print(finding_line(one, width))
    return int(not all_well(findings))


def find_text_findings(folder: Path, code: OwnerCode) -> Iterator[Finding]:
    """Yield the findings on prompts, playbooks, transitions and code."""
    if not folder.is_dir():
        yield ill_finding(
            "folder", f"{folder} is none: name the one that holds soul.md, prompts/ and playbooks/"
        )
        return
    needed = (action.texts for action in code.own.actions)
    texts = prompt_catalogue(code.processes.values(), STEP_TEXTS, *needed)
    wrong = [*_prompts(folder, texts, code)]
    yield from wrong or [well_finding("prompts", f"{len(texts.prompts)} texts can be used")]
    files = {*texts.playbooks, *_files(folder, f"{PLAYBOOK_FOLDER}[!.]*.md")}
    playbooks = sorted(file.removeprefix(PLAYBOOK_FOLDER) for file in files)
    known = {*code.processes, *code.broken, *playbooks, EXPERT_PROCESS}
    usable: list[Playbook] = []
    for name in playbooks:
        file = f"{PLAYBOOK_FOLDER}{name}"
        said = _unusable(folder, file, texts)
        if said:
            yield ill_finding(file, said)
        else:
            usable.append(parse_playbook(name, _read(folder, file)))
    yield from _unknown_abilities(folder, texts, code, known)
    for one in usable:
        yield from _playbook_findings(one, code, known)
    yield from playbook_cycles(usable)
    for name, faults in code.broken.items():
        for said in faults:
            yield ill_finding(f"processes/{name}", said)
    yield from unknown_targets(code.processes, known)
    if len(usable) == len(playbooks) and not code.broken:  # otherwise some paths are unknown
        yield from unreachable_texts(usable, code.processes)
        yield from unanswered(code.processes)
    yield from undescribed_actions(code.registry, code.processes)
    yield from unoffered_actions(usable, code.own, playbooks)
    if not code.owned:
        yield from approvals_without_owner(usable, code.registry)
    yield from _sandbox_findings(code.sandbox)
    yield from tool_server_findings(code.servers)
    yield from unknown_tool_servers(usable, code.servers)


def unknown_tool_servers(playbooks: Sequence[Playbook], file: ToolServersFile) -> Iterator[Finding]:
    """Yield a finding for each playbook that names a tool server without such a one, which may come later."""
    for one in playbooks:
        for server in dict.fromkeys(tool.partition(".")[0] for tool in one.tools):
            if server not in file.servers and not GLOB.search(server):
                said = f"no tool server that can be started is called {_short(server)}"
                hint = suggest_or_list(server, file.servers) if file.servers else f"name it in {MCP_FILE}"
                yield doubtful_finding(f"{PLAYBOOK_FOLDER}{one.name}", f"{said}; {hint}")


def tool_server_findings(file: ToolServersFile) -> Iterator[Finding]:
    """Yield a finding for each fault and each remark of mcp.json, and one on the servers that can be used."""
    for fault in file.faults:
        yield ill_finding(MCP_FILE, fault)
    for remark in file.remarks:
        yield doubtful_finding(MCP_FILE, remark)
    if file.servers:
        yield well_finding(MCP_FILE, f"servers that can be started: {', '.join(file.servers)}")


def _sandbox_findings(name: str) -> Iterator[Finding]:
    if name and name not in get_args(Kind):
        try:
            load_sandbox_class(name)
        except ConfigError as error:
            yield ill_finding("sandbox", str(error).rstrip("."))


def _prompts(folder: Path, texts: PromptCatalogue, code: OwnerCode) -> Iterator[Finding]:
    for name in texts.prompts:
        there = (folder / f"{name}.md").exists()
        if name in texts.defaults and not there:
            continue
        said = _unusable(folder, name, texts)
        if name not in WORDING and not there:
            said = f"it is not there, and {_needing(name, code)} needs it: write it"
        if said:
            yield ill_finding(name, said)
    if code.broken or code.own.faults:
        return  # the texts of broken code are unknown
    for name in _files(folder, "prompts/**/[!.]*.md"):
        if name not in texts.texts and name != SERVED_TEXT:
            yield ill_finding(name, f"nobody reads it: {suggest_name(name, texts.texts) or 'take it away'}")


def _unknown_abilities(
    folder: Path, texts: PromptCatalogue, code: OwnerCode, known: Collection[str]
) -> Iterator[Finding]:
    if not _unusable(folder, ABILITIES_TEXT, texts):
        for said in ability_faults(_read(folder, ABILITIES_TEXT), code.registry, known):
            yield ill_finding(ABILITIES_TEXT, said)


def _needing(text: str, code: OwnerCode) -> str:
    for name, process in code.processes.items():
        if text in process.texts:
            return f"processes/{name}"
    if text in STEP_TEXTS:
        return "a cognitive step"
    return next(one.name for one in code.own.actions if text in one.texts)


def _playbook_findings(playbook: Playbook, code: OwnerCode, known: Collection[str]) -> Iterator[Finding]:
    name = f"{PLAYBOOK_FOLDER}{playbook.name}"
    wrong = [*playbook_faults(playbook, code.registry, code.processes, known)]
    for said in wrong:
        yield ill_finding(name, said)
    for said in unknown_servers(playbook, code.servers.servers):
        yield doubtful_finding(name, said)
    if not wrong:
        ways = [action.name for action in code.registry.offered_by(playbook)]
        ways += [*playbook.tools, *(f"→ {to}" for to in playbook.transitions)]
        yield well_finding(name, ", ".join(ways))


def _files(folder: Path, pattern: str) -> Sequence[str]:
    files = folder.glob(pattern)
    return sorted(file.relative_to(folder).with_suffix("").as_posix() for file in files)


def _read(folder: Path, name: str) -> str:
    return read_text_file(folder / f"{name}.md")


def _unusable(folder: Path, name: str, texts: PromptCatalogue) -> str | None:
    """Return the fault of one text by itself; None if the text can be used."""
    try:
        return texts.fault(name, _read(folder, name))
    except ValueError as error:
        return str(error)
