"""The part of the system text that is made: what the soul can do here, and the form of its answers.

It is filled from the owner's texts when these change, the same in every process and call, and recorded with
them: an execution sees it as of its begin, and one from before there was any sees none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from daemon.engine.writable import writable
from daemon.mind.playbook import PLAYBOOKS, Playbook, playbook
from daemon.mind.tags import STEPS, CognitiveStep
from daemon.mind.wording import (
    ABILITIES,
    FORM,
    LABELS,
    MOODS,
    SOUL,
    Mood,
    Owned,
    fill,
    labels,
    moods,
    name_of,
    placeholders,
    when_of,
    worded,
)
from daemon.process import OwnAction

MADE = (f"made/{ABILITIES}", f"made/{FORM}")
"""The names of the made texts, in their order, among those that a turn begins with."""
CONDITION = re.compile(r"^(?P<mark>[ \t]*[-*] )\[(?P<name>\w+)\][ \t]*")
"""The beginning of a line that holds where there is a process or an action of this name."""
LONGEST = 200
"""Characters of what is said of an action where one does not choose among them yet."""
OWN = "actions there"
"""The label before the owner's actions that are offered where one may turn to."""
SHOWN = ("internal_monologue", "next_process", "external_dialogue", "emotional_state", "learned")
"""The order in which the form explains the sections: that of a whole answer."""


class Behaving(Owned, Protocol):
    """Whose processes are explained: a turn, or what the daemon is configured to be."""

    @property
    def processes(self) -> Mapping[str, Sequence[str]]:
        """The processes that one may go over into: name to the texts of which the first says when."""

    @property
    def own_actions(self) -> Sequence[OwnAction]:
        """The owner's actions that playbooks can offer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """The owner's texts by name, and what of the soul is configured.

    `at_once` are the processes that go to work at once, among them those that choose among `actions`.
    """

    texts: Mapping[str, str]
    processes: Mapping[str, Sequence[str]]
    at_once: Collection[str] = ()
    actions: Collection[str] = ()
    own_actions: Sequence[OwnAction] = ()

    def text(self, name: str) -> str:
        """The owner's text of that name."""
        return self.texts[name]

    def known_names(self) -> frozenset[str]:
        """Return the names of the processes and actions that there are."""
        found = {*self.processes}
        for book in self._playbooks():
            found.update(one for one in book.actions if one in self.actions)
        return frozenset(found)

    def own_action_names(self) -> Sequence[str]:
        """Return the names of the owner's actions that may be chosen."""
        return [one.name for one in _offered(self.own_actions, [*self._playbooks()])]

    def _playbooks(self) -> Iterator[Playbook]:
        for name in self.processes:
            source = f"{PLAYBOOKS}{name}"
            if name in self.at_once and source in self.texts:
                yield playbook(name, self.texts[source])


def made_texts(soul: Configured) -> Mapping[str, str]:
    """Make the texts by their names; empty where the owner's texts do not say how."""
    if ABILITIES not in soul.texts or FORM not in soul.texts:
        return {}
    made = (_abilities(soul), _form(soul))
    return dict(zip(MADE, map(writable, made), strict=True))


def _abilities(soul: Configured) -> str:
    """Fill what the soul can do here."""
    own = ", ".join(soul.own_action_names())
    text = those_that_hold(soul.text(ABILITIES), soul.known_names(), own)
    return fill(text, name=name_of(soul.text(SOUL)), actions=own)


def those_that_hold(text: str, there: Collection[str], own: str) -> str:
    """Return the lines whose condition is there, without it; of `own` actions only where there are any."""
    lines = []
    for line in text.splitlines():
        found = CONDITION.match(line)
        if found and found["name"] not in there:
            continue
        if own or "actions" not in placeholders(line):
            lines.append(CONDITION.sub(r"\g<mark>", line))
    return "\n".join(lines)


def conditions(text: str) -> Sequence[str]:
    """Return the names of the processes and actions for which lines of this text are told."""
    found = [CONDITION.match(line) for line in text.splitlines()]
    return list(dict.fromkeys(one["name"] for one in found if one))


def _form(soul: Configured) -> str:
    table = moods(soul.text(MOODS))
    usual = next(iter(table.values()))
    sections = [section(soul, STEPS[name], usual) for name in SHOWN]
    manners = "; ".join(f"{mood.name} ({mood.thinks}, {mood.says})" for mood in table.values())
    return worded(
        soul,
        FORM,
        sections="\n".join(sections),
        moods=manners,
        mood=usual.name,
        process=next(iter(soul.processes), "conversation"),
    )


def section(soul: Behaving, step: CognitiveStep, mood: Mood) -> str:
    """Return what belongs into one section, as the owner words it."""
    verb = mood.says
    if step.private:
        verb = mood.thinks
    reasons: Sequence[str] = ()
    if step.name == "next_process":
        reasons = [*_reasons(soul)]
    return worded(
        soul,
        step.prompt,
        tag=step.tag,
        verb=verb,
        moods=", ".join(moods(soul.text(MOODS))),
        processes=", ".join(soul.processes),
        reasons=" ".join(reasons),
        ways="\n".join(f"- {reason}" for reason in reasons),
    )


def _reasons(soul: Behaving) -> Iterator[str]:
    """Say of each process when one goes over into it, in its own words or those of its playbook."""
    for name, sources in soul.processes.items():
        for source in sources:
            when = when_of(soul, source)
            if when:
                yield f"{name}: {when}{_own_actions(soul, sources)}"
                break


def _own_actions(soul: Behaving, sources: Sequence[str]) -> str:
    """Name the owner's actions that there are: the soul cannot turn to what it does not know of."""
    books = [
        playbook(source.removeprefix(PLAYBOOKS), soul.text(source))
        for source in sources
        if soul.own_actions and source.startswith(PLAYBOOKS)
    ]
    own = _offered(soul.own_actions, books)
    if not own:
        return ""
    told = "; ".join(f"{one.name} — {one.about[:LONGEST].rstrip(' .')}" for one in own)
    return f" {labels(soul.text(LABELS)).get(OWN, OWN)}: {told}."


def _offered(actions: Sequence[OwnAction], books: Sequence[Playbook]) -> Sequence[OwnAction]:
    """Return the actions that any of these playbooks offers, or that name one of them themselves."""
    return [
        one
        for one in actions
        if any(one.name in book.actions or book.name in one.playbooks for book in books)
    ]
