"""`python -m daemon check`: can the soul's texts be used, and do its playbooks lead anywhere?

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
from daemon.mind.wording import WORDING, fault

LEADS: Mapping[str, str] = {"Escalate": "expert"}
"""Actions that go over into a process by themselves."""


def check(folder: Path, registry: Registry, processes: Collection[str]) -> int:
    """Print what is found about the texts of this folder; 1 if something is to mend."""
    findings = [*examine(folder, registry, processes)]
    for one in findings:
        print(line(one, max(len(one.name) for one in findings)))
    return 0 if all(one.ok for one in findings) else 1


def examine(folder: Path, registry: Registry, processes: Collection[str]) -> Iterator[Finding]:
    """All findings: first the prompts, then each playbook, then how they go over into each other."""
    if not folder.is_dir():
        yield ill("folder", f"{folder} is none: name the one that holds soul.md, prompts/ and playbooks/")
        return
    texts = [name for name in WORDING if not name.startswith(PLAYBOOKS)]
    wrong = [ill(name, said) for name in texts if (said := _unusable(folder, name))]
    yield from wrong or [Finding(name="prompts", said=f"{len(texts)} texts can be used")]
    needed = {name for name in WORDING if name.startswith(PLAYBOOKS)}
    found = {f"{PLAYBOOKS}{path.stem}" for path in (folder / PLAYBOOKS).glob("[!.]*.md")}
    usable: list[Playbook] = []
    for name in sorted(needed | found):
        if said := _unusable(folder, name):
            yield ill(name, said)
        else:
            usable.append(playbook(name.removeprefix(PLAYBOOKS), _read(folder, name)))
    yield from _led(usable, registry, processes)


def _led(playbooks: Sequence[Playbook], registry: Registry, processes: Collection[str]) -> Iterator[Finding]:
    """What is to be said of playbooks that can be used by themselves."""
    theirs = {name.removeprefix(PLAYBOOKS) for name in WORDING if name.startswith(PLAYBOOKS)}
    fixed = {*processes} - theirs
    known = {*processes, *(one.name for one in playbooks)}
    for one in playbooks:
        wrong = [*_faults(one, registry, known)]
        if one.name in fixed:
            wrong.append(f"{one.name} has fixed steps and takes no playbook: give the file another name")
        ways = ", ".join((*one.actions, *(f"→ {name}" for name in one.transitions)))
        yield from (ill(f"{PLAYBOOKS}{one.name}", said) for said in wrong)
        if not wrong:
            yield Finding(name=f"{PLAYBOOKS}{one.name}", said=ways)
    for circle in _circles(playbooks):
        said = f"{' → '.join(circle)}: they hand it to each other for ever; take one transition away"
        yield ill(f"{PLAYBOOKS}{circle[0]}", said)


def _faults(one: Playbook, registry: Registry, known: Collection[str]) -> Iterator[str]:
    """What a playbook names that there is not, and whether it can end."""
    for name in one.actions:
        if name not in registry.named:
            yield f"there is no action {name}; {_instead(name, registry.named)}"
    for name in dict.fromkeys((*one.transitions, one.then, *_led_to(one))):
        if name not in known:
            yield f"there is no process {name}; {_instead(name, known)}"
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


def _read(folder: Path, name: str) -> str:
    return (folder / f"{name}.md").read_text(encoding="utf-8-sig")


def _unusable(folder: Path, name: str) -> str | None:
    """What is wrong with a text of the owner's by itself."""
    try:
        return fault(name, _read(folder, name))
    except (OSError, UnicodeDecodeError) as error:
        return f"it cannot be read ({error.__class__.__name__}): put it back"
