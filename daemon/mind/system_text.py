"""The part of the system text that is made: what the soul can do here, and the form of its answers.

It is filled from the owner's texts when these change, the same in every process and call, and recorded with
them: an execution sees it as of its begin, and one from before there was any sees none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from daemon.engine.writable import storable_text
from daemon.mind.playbook import PLAYBOOK_FOLDER, Playbook, parse_playbook
from daemon.mind.tags import STEPS_BY_NAME, CognitiveStep
from daemon.mind.wording import (
    ABILITIES_TEXT,
    FORM_TEXT,
    LABELS_TEXT,
    MOODS_TEXT,
    SOUL_TEXT,
    Mood,
    OwnerTextSource,
    fill_placeholders,
    fill_prompt,
    parse_labels,
    parse_moods,
    placeholder_names,
    process_reason,
    soul_name_in,
)
from daemon.process import OwnAction

MADE_TEXTS = (f"made/{ABILITIES_TEXT}", f"made/{FORM_TEXT}")
"""The names of the made texts, in their order, among those that a turn begins with."""
CONDITION = re.compile(r"^(?P<mark>[ \t]*[-*] )\[(?P<name>\w+)\][ \t]*")
"""The beginning of a line that holds where there is a process or an action of this name."""
LONGEST = 200
"""Characters of what is said of an action where one does not choose among them yet."""
OWN = "actions there"
"""The label before the owner's actions that are offered where one may turn to."""
SHOWN = ("internal_monologue", "next_process", "external_dialogue", "emotional_state", "learned")
"""The order in which the form explains the sections: that of a whole answer."""


class SystemTextSource(OwnerTextSource, Protocol):
    """Whose processes are explained: a turn, or what the daemon is configured to be."""

    @property
    def processes(self) -> Mapping[str, Sequence[str]]:
        """The processes that one may go over into: name to the texts of which the first says when."""

    @property
    def own_actions(self) -> Sequence[OwnAction]:
        """The owner's actions that playbooks can offer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredBehaviour:
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
            source = f"{PLAYBOOK_FOLDER}{name}"
            if name in self.at_once and source in self.texts:
                yield parse_playbook(name, self.texts[source])


def make_system_texts(soul: ConfiguredBehaviour) -> Mapping[str, str]:
    """Make the texts by their names; empty where the owner's texts do not say how."""
    if ABILITIES_TEXT not in soul.texts or FORM_TEXT not in soul.texts:
        return {}
    made = (_abilities(soul), _form(soul))
    return dict(zip(MADE_TEXTS, map(storable_text, made), strict=True))


def _abilities(soul: ConfiguredBehaviour) -> str:
    """Fill what the soul can do here."""
    own = ", ".join(soul.own_action_names())
    text = lines_that_apply(soul.text(ABILITIES_TEXT), soul.known_names(), own)
    return fill_placeholders(text, name=soul_name_in(soul.text(SOUL_TEXT)), actions=own)


def lines_that_apply(text: str, there: Collection[str], own: str) -> str:
    """Return the lines whose condition is there, without it; of `own` actions only where there are any."""
    lines = []
    for line in text.splitlines():
        found = CONDITION.match(line)
        if found and found["name"] not in there:
            continue
        if own or "actions" not in placeholder_names(line):
            lines.append(CONDITION.sub(r"\g<mark>", line))
    return "\n".join(lines)


def condition_names(text: str) -> Sequence[str]:
    """Return the names of the processes and actions for which lines of this text are told."""
    found = [CONDITION.match(line) for line in text.splitlines()]
    return list(dict.fromkeys(one["name"] for one in found if one))


def _form(soul: ConfiguredBehaviour) -> str:
    table = parse_moods(soul.text(MOODS_TEXT))
    usual = next(iter(table.values()))
    sections = [section_instruction(soul, STEPS_BY_NAME[name], usual) for name in SHOWN]
    manners = "; ".join(f"{mood.name} ({mood.thinks}, {mood.says})" for mood in table.values())
    return fill_prompt(
        soul,
        FORM_TEXT,
        sections="\n".join(sections),
        moods=manners,
        mood=usual.name,
        process=next(iter(soul.processes), "conversation"),
    )


def section_instruction(soul: SystemTextSource, step: CognitiveStep, mood: Mood) -> str:
    """Return what belongs into one section, as the owner words it."""
    verb = mood.says
    if step.private:
        verb = mood.thinks
    reasons: Sequence[str] = ()
    if step.name == "next_process":
        reasons = [*_reasons(soul)]
    return fill_prompt(
        soul,
        step.prompt,
        tag=step.tag,
        verb=verb,
        moods=", ".join(parse_moods(soul.text(MOODS_TEXT))),
        processes=", ".join(soul.processes),
        reasons=" ".join(reasons),
        ways="\n".join(f"- {reason}" for reason in reasons),
    )


def _reasons(soul: SystemTextSource) -> Iterator[str]:
    """Say of each process when one goes over into it, in its own words or those of its playbook."""
    for name, sources in soul.processes.items():
        for source in sources:
            when = process_reason(soul, source)
            if when:
                yield f"{name}: {when}{_own_actions(soul, sources)}"
                break


def _own_actions(soul: SystemTextSource, sources: Sequence[str]) -> str:
    """Name the owner's actions that there are: the soul cannot turn to what it does not know of."""
    books = [
        parse_playbook(source.removeprefix(PLAYBOOK_FOLDER), soul.text(source))
        for source in sources
        if soul.own_actions and source.startswith(PLAYBOOK_FOLDER)
    ]
    own = _offered(soul.own_actions, books)
    if not own:
        return ""
    told = "; ".join(f"{one.name} — {one.about[:LONGEST].rstrip(' .')}" for one in own)
    return f" {parse_labels(soul.text(LABELS_TEXT)).get(OWN, OWN)}: {told}."


def _offered(actions: Sequence[OwnAction], books: Sequence[Playbook]) -> Sequence[OwnAction]:
    """Return the actions that any of these playbooks offers, or that name one of them themselves."""
    return [
        one
        for one in actions
        if any(one.name in book.actions or book.name in one.playbooks for book in books)
    ]
