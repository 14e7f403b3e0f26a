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
from daemon.actions.built_in import catalogue as every_action
from daemon.actions.own import Own, own_actions
from daemon.actions.registry import Registry
from daemon.doctor.finding import Finding, all_well, ill, line, well
from daemon.doctor.ways import (
    circles,
    misled,
    unanswered,
    unapproved,
    undescribed,
    unled,
    unoffered,
)
from daemon.errors import ConfigError
from daemon.mind.playbook import PLAYBOOKS, Playbook, playbook
from daemon.mind.steps import STEP_TEXTS
from daemon.mind.wording import ABILITIES, WORDING, Catalogue, catalogue
from daemon.playbook_faults import ability_faults, meant, playbook_faults
from daemon.process import MentalProcess
from daemon.processes import EXPERT, FAULTS, PROCESSES
from daemon.sandbox.own_class import own_class
from daemon.sandbox.session import Kind
from daemon.soul.text_file import read_text_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What stands in a folder of the owner's, as far as it is code: its processes and its actions.

    `broken`: of each file that should be a process and is none, why not. `owned`: is there anybody who owns
    the soul? `sandbox` is what RLM_SANDBOX says.
    """

    registry: Registry
    processes: Mapping[str, MentalProcess]
    broken: Mapping[str, Sequence[str]] = field(default_factory=dict)
    own: Own = field(default_factory=Own)
    owned: bool = True
    sandbox: str = ""


def written(folder: Path, *, owned: bool, sandbox: str = "") -> Written:
    """The project's own processes and actions, and those actions that stand in this folder."""
    own = own_actions(folder)
    registry = every_action(own.actions)
    return Written(
        registry=registry, processes=PROCESSES, broken=FAULTS, own=own, owned=owned, sandbox=sandbox
    )


def owned(settings: Settings) -> bool:
    """Does anybody own this soul? Where the model is a script somebody of the rehearsed workspace does."""
    return bool(settings.owner_user_ids) or settings.claude == "rehearsed"


def check(folder: Path, code: Written) -> int:
    """Print what is found about the texts of this folder; 1 if something is to mend."""
    findings = [*examine(folder, code)]
    width = max(len(one.name) for one in findings)
    for one in findings:
        print(line(one, width))
    return int(not all_well(findings))


def examine(folder: Path, code: Written) -> Iterator[Finding]:
    """All findings: the prompts, each playbook, how they go over into each other, then the code."""
    if not folder.is_dir():
        yield ill("folder", f"{folder} is none: name the one that holds soul.md, prompts/ and playbooks/")
        return
    needed = (action.texts for action in code.own.actions)
    texts = catalogue(code.processes.values(), STEP_TEXTS, *needed)
    wrong = [*_prompts(folder, texts, code)]
    yield from wrong or [well("prompts", f"{len(texts.prompts)} texts can be used")]
    files = {*texts.playbooks, *_files(folder, f"{PLAYBOOKS}[!.]*.md")}
    playbooks = sorted(file.removeprefix(PLAYBOOKS) for file in files)
    known = {*code.processes, *code.broken, *playbooks, EXPERT}
    usable: list[Playbook] = []
    for name in playbooks:
        file = f"{PLAYBOOKS}{name}"
        said = _unusable(folder, file, texts)
        if said:
            yield ill(file, said)
        else:
            usable.append(playbook(name, _read(folder, file)))
    yield from _told_in_vain(folder, texts, code, known)
    for one in usable:
        yield from _said_of(one, code, known)
    yield from circles(usable)
    for name, faults in code.broken.items():
        for said in faults:
            yield ill(f"processes/{name}", said)
    yield from misled(code.processes, known)
    if len(usable) == len(playbooks) and not code.broken:  # else nobody can tell what leads where
        yield from unled(usable, code.processes)
        yield from unanswered(code.processes)
    yield from undescribed(code.registry, code.processes)
    yield from unoffered(usable, code.own, playbooks)
    if not code.owned:
        yield from unapproved(usable, code.registry)
    if code.sandbox and code.sandbox not in get_args(Kind):
        try:
            own_class(code.sandbox)
        except ConfigError as error:
            yield ill("sandbox", str(error).rstrip("."))


def _prompts(folder: Path, texts: Catalogue, code: Written) -> Iterator[Finding]:
    """Those that cannot be used, and files that nobody reads."""
    for name in texts.prompts:
        there = (folder / f"{name}.md").exists()
        if name in texts.defaults and not there:
            continue
        said = _unusable(folder, name, texts)
        if name not in WORDING and not there:
            said = f"it is not there, and {_needing(name, code)} needs it: write it"
        if said:
            yield ill(name, said)
    if code.broken or code.own.faults:
        return  # what these would read cannot be told
    for name in _files(folder, "prompts/**/[!.]*.md"):
        if name not in texts.texts:
            yield ill(name, f"nobody reads it: {meant(name, texts.texts) or 'take it away'}")


def _told_in_vain(folder: Path, texts: Catalogue, code: Written, known: Collection[str]) -> Iterator[Finding]:
    """What the soul could do, if there were that process or action."""
    if not _unusable(folder, ABILITIES, texts):
        for said in ability_faults(_read(folder, ABILITIES), code.registry, known):
            yield ill(ABILITIES, said)


def _needing(text: str, code: Written) -> str:
    """What says that it needs this text."""
    for name, process in code.processes.items():
        if text in process.texts:
            return f"processes/{name}"
    if text in STEP_TEXTS:
        return "a cognitive step"
    return next(one.name for one in code.own.actions if text in one.texts)


def _said_of(one: Playbook, code: Written, known: Collection[str]) -> Iterator[Finding]:
    """What is to be said of a playbook that can be used by itself."""
    name = f"{PLAYBOOKS}{one.name}"
    wrong = [*playbook_faults(one, code.registry, code.processes, known)]
    for said in wrong:
        yield ill(name, said)
    if not wrong:
        ways = [action.name for action in code.registry.offered_by(one)]
        ways += [f"→ {to}" for to in one.transitions]
        yield well(name, ", ".join(ways))


def _files(folder: Path, pattern: str) -> Sequence[str]:
    """The names of the texts that there are."""
    files = folder.glob(pattern)
    return sorted(file.relative_to(folder).with_suffix("").as_posix() for file in files)


def _read(folder: Path, name: str) -> str:
    return read_text_file(folder / f"{name}.md")


def _unusable(folder: Path, name: str, texts: Catalogue) -> str | None:
    """What is wrong with a text of the owner's by itself."""
    try:
        return texts.fault(name, _read(folder, name))
    except ValueError as error:
        return str(error)
