"""`python -m daemon check`: can the soul's texts be used, and does each process lead anywhere, and one to it?

It reads files alone; no key, no journal, no network.
"""

from __future__ import annotations

import graphlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from daemon.actions.registry import Registry
from daemon.doctor.finding import Finding, ill, line
from daemon.mind.playbook import PLAYBOOKS, Playbook, playbook
from daemon.mind.wording import Catalogue, catalogue
from daemon.process import MentalProcess
from daemon.processes import DELIBERATION, INITIAL

LEADS: Mapping[str, str] = {"Escalate": "expert"}
"""Actions that go over into a process by themselves."""


def check(folder: Path, registry: Registry, processes: Mapping[str, MentalProcess]) -> int:
    """Print what is found about the texts of this folder; 1 if something is to mend."""
    findings = [*examine(folder, registry, processes)]
    width = max(len(one.name) for one in findings)
    for one in findings:
        print(line(one, width))
    return int(not all(one.ok for one in findings))


def examine(folder: Path, registry: Registry, processes: Mapping[str, MentalProcess]) -> Iterator[Finding]:
    """All findings: first the prompts, then each playbook, then how they go over into each other."""
    if not folder.is_dir():
        yield ill("folder", f"{folder} is none: name the one that holds soul.md, prompts/ and playbooks/")
        return
    texts = catalogue(processes.values())
    wrong = [*_prompts(folder, texts)]
    yield from wrong or [Finding(name="prompts", said=f"{len(texts.prompts)} texts can be used")]
    usable: list[Playbook] = []
    for name in sorted({*texts.playbooks, *_files(folder, PLAYBOOKS)}):
        said = _unusable(folder, name, texts)
        if said:
            yield ill(name, said)
        else:
            usable.append(playbook(name.removeprefix(PLAYBOOKS), _read(folder, name)))
    yield from _led(usable, registry, processes)
    yield from _unled(usable, processes)


def _prompts(folder: Path, texts: Catalogue) -> Iterator[Finding]:
    """Those that cannot be used, and files that nobody reads."""
    for name in texts.prompts:
        if name in texts.defaults and not (folder / f"{name}.md").exists():
            continue
        said = _unusable(folder, name, texts)
        if said:
            yield ill(name, said)
    for name in _files(folder, "prompts/"):
        if name not in texts.texts:
            alike = get_close_matches(name, texts.texts, n=1)
            meant = f"is it {alike[0]}?" if alike else "take it away"
            yield ill(name, f"nobody reads it: {meant}")


def _led(
    playbooks: Sequence[Playbook], registry: Registry, processes: Mapping[str, MentalProcess]
) -> Iterator[Finding]:
    """What is to be said of playbooks that can be used by themselves."""
    known = {*processes, *(one.name for one in playbooks), *LEADS.values()}
    for one in playbooks:
        name = f"{PLAYBOOKS}{one.name}"
        wrong = [*_faults(one, registry, known)]
        if one.name in processes and name not in processes[one.name].texts:
            wrong.append(f"{one.name} has fixed steps and takes no playbook: give the file another name")
        ways = ", ".join((*one.actions, *(f"→ {to}" for to in one.transitions)))
        yield from (ill(name, said) for said in wrong)
        if not wrong:
            yield Finding(name=name, said=ways)
    for circle in _circles(playbooks):
        said = f"{' → '.join(circle)}: they hand it to each other for ever; take one transition away"
        yield ill(f"{PLAYBOOKS}{circle[0]}", said)


def _unled(playbooks: Sequence[Playbook], processes: Mapping[str, MentalProcess]) -> Iterator[Finding]:
    """Processes that nothing leads to, and what they go over into that there is not."""
    known = {*processes, *(one.name for one in playbooks)}
    led = {INITIAL}
    for one in playbooks:
        led.update(one.transitions, [one.then], _led_to(one))
    for process in processes.values():
        led.update(name for name in process.leads if name != process.name)
    for process in processes.values():
        for name in process.leads:
            if name not in known:
                yield ill(f"processes/{process.name}", f"there is no process {name}; {_instead(name, known)}")
        if process.name not in led and not (process.when or process.called):
            said = "nothing leads to it: say in its file when one goes there, or take the file away"
            yield ill(f"processes/{process.name}", said)


def _faults(one: Playbook, registry: Registry, known: Collection[str]) -> Iterator[str]:
    """What a playbook names that there is not, and whether it can end."""
    for name in one.actions:
        if name not in registry.named:
            yield f"there is no action {name}; {_instead(name, registry.named)}"
    for name in dict.fromkeys((*one.transitions, one.then, *_led_to(one))):
        if name not in known:
            yield f"there is no process {name}; {_instead(name, known)}"
    if one.name == DELIBERATION:  # open thought ends by its final answer
        return
    if not one.transitions and not _led_to(one) and not any(a.terminal for a in registry.offered(one)):
        ends = [name for name, action in registry.named.items() if action.terminal]
        yield f"it has no way to end: offer {' or '.join(ends)}, or write a transition"


def _circles(playbooks: Sequence[Playbook]) -> Iterator[Sequence[str]]:
    """Ways from playbook to playbook that come back to where they began."""
    goes = {one.name: {*one.transitions, *_led_to(one)} for one in playbooks}
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


def _led_to(one: Playbook) -> Sequence[str]:
    return [LEADS[name] for name in one.actions if name in LEADS]


def _instead(name: str, known: Collection[str]) -> str:
    """What might have been meant."""
    alike = get_close_matches(name, known, n=1)
    return f"is it {alike[0]}?" if alike else f"there are {', '.join(sorted(known))}"


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
