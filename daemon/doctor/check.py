"""`python -m daemon check`: can the soul's texts be used, and does each process lead anywhere, and one to it?

It needs files alone; no key, no journal, no network. The owner's actions are run as far as they stand at the
top of their files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from config import Settings
from daemon.actions.built_in import all_actions as every_action
from daemon.actions.own import OwnerActions, find_owner_actions
from daemon.actions.registry import ActionRegistry
from daemon.doctor.finding import Finding, all_well, finding_line, ill_finding, well_finding
from daemon.doctor.ways import (
    approvals_without_owner,
    playbook_cycles,
    unanswered,
    undescribed_actions,
    unknown_targets,
    unoffered_actions,
    unreachable_texts,
)
from daemon.errors import ConfigError
from daemon.mind.playbook import PLAYBOOK_FOLDER, Playbook, parse_playbook
from daemon.mind.steps import STEP_TEXTS
from daemon.mind.wording import ABILITIES_TEXT, WORDING, PromptCatalogue, prompt_catalogue
from daemon.playbook_faults import ability_faults, playbook_faults, suggest_name
from daemon.process import MentalProcess
from daemon.processes import EXPERT_PROCESS, PROCESS_FAULTS, PROCESSES
from daemon.sandbox.own_class import load_sandbox_class
from daemon.sandbox.session import Kind
from daemon.soul.text_file import read_text_file


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerCode:
    """What stands in a folder of the owner's, as far as it is code: its processes and its actions.

    `broken`: of each file that should be a process and is none, why not. `owned`: is there anybody who owns
    the soul? `sandbox` is what RLM_SANDBOX says.
    """

    registry: ActionRegistry
    processes: Mapping[str, MentalProcess]
    broken: Mapping[str, Sequence[str]] = field(default_factory=dict)
    own: OwnerActions = field(default_factory=OwnerActions)
    owned: bool = True
    sandbox: str = ""


def find_owner_code(folder: Path, *, owned: bool, sandbox: str = "") -> OwnerCode:
    """The project's own processes and actions, and those actions that stand in this folder."""
    own = find_owner_actions(folder)
    registry = every_action(own.actions)
    return OwnerCode(
        registry=registry, processes=PROCESSES, broken=PROCESS_FAULTS, own=own, owned=owned, sandbox=sandbox
    )


def has_known_owner(settings: Settings) -> bool:
    """Does anybody own this soul? Where the model is a script somebody of the rehearsed workspace does."""
    return bool(settings.owner_user_ids) or settings.claude == "rehearsed"


def check_texts(folder: Path, code: OwnerCode) -> int:
    """Print what is found about the texts of this folder; 1 if something is to mend."""
    findings = [*find_text_findings(folder, code)]
    width = max(len(one.name) for one in findings)
    for one in findings:
        print(finding_line(one, width))
    return int(not all_well(findings))


def find_text_findings(folder: Path, code: OwnerCode) -> Iterator[Finding]:
    """All findings: the prompts, each playbook, how they go over into each other, then the code."""
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
    if len(usable) == len(playbooks) and not code.broken:  # else nobody can tell what leads where
        yield from unreachable_texts(usable, code.processes)
        yield from unanswered(code.processes)
    yield from undescribed_actions(code.registry, code.processes)
    yield from unoffered_actions(usable, code.own, playbooks)
    if not code.owned:
        yield from approvals_without_owner(usable, code.registry)
    if code.sandbox and code.sandbox not in get_args(Kind):
        try:
            load_sandbox_class(code.sandbox)
        except ConfigError as error:
            yield ill_finding("sandbox", str(error).rstrip("."))


def _prompts(folder: Path, texts: PromptCatalogue, code: OwnerCode) -> Iterator[Finding]:
    """Those that cannot be used, and files that nobody reads."""
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
        return  # what these would read cannot be told
    for name in _files(folder, "prompts/**/[!.]*.md"):
        if name not in texts.texts:
            yield ill_finding(name, f"nobody reads it: {suggest_name(name, texts.texts) or 'take it away'}")


def _unknown_abilities(
    folder: Path, texts: PromptCatalogue, code: OwnerCode, known: Collection[str]
) -> Iterator[Finding]:
    """What the soul could do, if there were that process or action."""
    if not _unusable(folder, ABILITIES_TEXT, texts):
        for said in ability_faults(_read(folder, ABILITIES_TEXT), code.registry, known):
            yield ill_finding(ABILITIES_TEXT, said)


def _needing(text: str, code: OwnerCode) -> str:
    """What says that it needs this text."""
    for name, process in code.processes.items():
        if text in process.texts:
            return f"processes/{name}"
    if text in STEP_TEXTS:
        return "a cognitive step"
    return next(one.name for one in code.own.actions if text in one.texts)


def _playbook_findings(one: Playbook, code: OwnerCode, known: Collection[str]) -> Iterator[Finding]:
    """What is to be said of a playbook that can be used by itself."""
    name = f"{PLAYBOOK_FOLDER}{one.name}"
    wrong = [*playbook_faults(one, code.registry, code.processes, known)]
    for said in wrong:
        yield ill_finding(name, said)
    if not wrong:
        ways = [action.name for action in code.registry.offered_by(one)]
        ways += [f"→ {to}" for to in one.transitions]
        yield well_finding(name, ", ".join(ways))


def _files(folder: Path, pattern: str) -> Sequence[str]:
    """The names of the texts that there are."""
    files = folder.glob(pattern)
    return sorted(file.relative_to(folder).with_suffix("").as_posix() for file in files)


def _read(folder: Path, name: str) -> str:
    return read_text_file(folder / f"{name}.md")


def _unusable(folder: Path, name: str, texts: PromptCatalogue) -> str | None:
    """What is wrong with a text of the owner's by itself."""
    try:
        return texts.fault(name, _read(folder, name))
    except ValueError as error:
        return str(error)
