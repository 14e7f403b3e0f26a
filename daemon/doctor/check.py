"""`python -m daemon check`: can the soul's texts be used, and does each process lead anywhere, and one to it?

It needs files alone; no key, no journal, no network. The owner's actions are run as far as they stand at the
top of their files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from config import Settings
from daemon.actions.built_in import catalogue as every_action
from daemon.actions.own import Own, own_actions
from daemon.actions.registry import Registry
from daemon.doctor.finding import Finding, ill, line, well
from daemon.doctor.ways import (
    LEADS,
    circles,
    instead,
    led_to,
    misled,
    unapproved,
    undescribed,
    unled,
    unoffered,
)
from daemon.mind.playbook import PLAYBOOKS, Playbook, playbook
from daemon.mind.wording import WORDING, Catalogue, catalogue
from daemon.process import MentalProcess
from daemon.processes import DELIBERATION, FAULTS, PROCESSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What stands in a folder of the owner's, as far as it is code: its processes and its actions.

    `broken`: of each file that should be a process and is none, why not. `owned`: is there anybody who owns
    the soul?
    """

    registry: Registry
    processes: Mapping[str, MentalProcess]
    broken: Mapping[str, Sequence[str]] = field(default_factory=dict)
    own: Own = field(default_factory=Own)
    owned: bool = True


def written(folder: Path, *, owned: bool) -> Written:
    """The project's own processes and actions, and those actions that stand in this folder."""
    own = own_actions(folder)
    registry = every_action(own.actions)
    return Written(registry=registry, processes=PROCESSES, broken=FAULTS, own=own, owned=owned)


def owned(settings: Settings) -> bool:
    """Does anybody own this soul? Where the model is a script somebody of the rehearsed workspace does."""
    return bool(settings.owner_user_ids) or settings.claude == "rehearsed"


def check(folder: Path, code: Written) -> int:
    """Print what is found about the texts of this folder; 1 if something is to mend."""
    findings = [*examine(folder, code)]
    width = max(len(one.name) for one in findings)
    for one in findings:
        print(line(one, width))
    return int(not all(one.ok for one in findings))


def examine(folder: Path, code: Written) -> Iterator[Finding]:
    """All findings: the prompts, each playbook, how they go over into each other, then the code."""
    if not folder.is_dir():
        yield ill("folder", f"{folder} is none: name the one that holds soul.md, prompts/ and playbooks/")
        return
    texts = catalogue(code.processes.values(), *(one.texts for one in code.own.actions))
    wrong = [*_prompts(folder, texts, code)]
    yield from wrong or [well("prompts", f"{len(texts.prompts)} texts can be used")]
    usable: list[Playbook] = []
    names = sorted({*texts.playbooks, *_files(folder, PLAYBOOKS)})
    playbooks = [name.removeprefix(PLAYBOOKS) for name in names]
    known = {*code.processes, *code.broken, *playbooks, *LEADS.values()}
    for name in names:
        said = _unusable(folder, name, texts)
        if said:
            yield ill(name, said)
        else:
            usable.append(playbook(name.removeprefix(PLAYBOOKS), _read(folder, name)))
    yield from _led(usable, code.registry, code.processes, known)
    for name, faults in code.broken.items():
        yield from (ill(f"processes/{name}", said) for said in faults)
    yield from misled(code.processes, known)
    if len(usable) == len(names) and not code.broken:  # else nobody can tell what leads where
        yield from unled(usable, code.processes)
    yield from undescribed(code.registry, code.processes)
    yield from unoffered(usable, code.own, playbooks)
    if not code.owned:
        yield from unapproved(usable, code.registry)


def _prompts(folder: Path, texts: Catalogue, code: Written) -> Iterator[Finding]:
    """Those that cannot be used, and files that nobody reads."""
    for name in texts.prompts:
        if name in texts.defaults and not (folder / f"{name}.md").exists():
            continue
        said = _unusable(folder, name, texts)
        if said and name not in WORDING and not (folder / f"{name}.md").exists():
            said = f"it is not there, and {next(_needing(name, code))} needs it: write it"
        if said:
            yield ill(name, said)
    if code.broken or code.own.faults:
        return  # what these would read cannot be told
    for name in _files(folder, "prompts/"):
        if name not in texts.texts:
            alike = get_close_matches(name, texts.texts, n=1)
            meant = f"is it {alike[0]}?" if alike else "take it away"
            yield ill(name, f"nobody reads it: {meant}")


def _needing(text: str, code: Written) -> Iterator[str]:
    """What says that it needs this text."""
    yield from (f"processes/{name}" for name, one in code.processes.items() if text in one.texts)
    yield from (one.name for one in code.own.actions if text in one.texts)


def _led(
    playbooks: Sequence[Playbook],
    registry: Registry,
    processes: Mapping[str, MentalProcess],
    known: Collection[str],
) -> Iterator[Finding]:
    """What is to be said of playbooks that can be used by themselves."""
    for one in playbooks:
        name = f"{PLAYBOOKS}{one.name}"
        wrong = [*_faults(one, registry, known)]
        if one.name in processes and name not in processes[one.name].texts:
            wrong.append(f"{one.name} has fixed steps and takes no playbook: give the file another name")
        offers = dict.fromkeys((*one.actions, *(action.name for action in registry.offered(one))))
        ways = ", ".join((*offers, *(f"→ {to}" for to in one.transitions)))
        yield from (ill(name, said) for said in wrong)
        if not wrong:
            yield well(name, ways)
    for circle in circles(playbooks):
        said = f"{' → '.join(circle)}: they hand it to each other for ever; take one transition away"
        yield ill(f"{PLAYBOOKS}{circle[0]}", said)


def _faults(one: Playbook, registry: Registry, known: Collection[str]) -> Iterator[str]:
    """What a playbook names that there is not, and whether it can end."""
    for name in one.actions:
        if name not in registry.named:
            yield f"there is no action {name}; {instead(name, registry.named)}"
    for name in dict.fromkeys((*one.transitions, one.then, *led_to(one))):
        if name not in known:
            yield f"there is no process {name}; {instead(name, known)}"
    if one.name == DELIBERATION:  # open thought ends by its final answer
        return
    if not one.transitions and not led_to(one) and not any(a.terminal for a in registry.offered(one)):
        ends = [name for name, action in registry.named.items() if action.terminal]
        yield f"it has no way to end: offer {' or '.join(ends)}, or write a transition"


def _files(folder: Path, under: str) -> Sequence[str]:
    """The names of the texts that there are in a folder of them; an editor's own files are none."""
    files = (folder / under).glob("*.md" if under == PLAYBOOKS else "**/*.md")
    return sorted(
        file.relative_to(folder).with_suffix("").as_posix() for file in files if file.name[0] != "."
    )


def _read(folder: Path, name: str) -> str:
    return (folder / f"{name}.md").read_text(encoding="utf-8-sig")


def _unusable(folder: Path, name: str, texts: Catalogue) -> str | None:
    """What is wrong with a text of the owner's by itself."""
    try:
        return texts.fault(name, _read(folder, name))
    except (OSError, UnicodeDecodeError) as error:
        return f"it cannot be read ({error.__class__.__name__}): put it back"
