"""The owner's words: which texts there are, which placeholders each may use, and how they are filled.

Every instruction to a model and every fixed sentence to a person is such a text, named by its path without
.md; soul/ reads them. Here stand those that no process has for itself alone: what a process needs is said
in its own file. Each file in playbooks/ is one, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import Template
from typing import Protocol

from daemon.mind.choosing import CHOOSING, chooser_text_faults
from daemon.mind.playbook import PLAYBOOK_FOLDER, Playbook, parse_playbook
from daemon.mind.tags import STEPS_BY_NAME
from daemon.ports import Button
from daemon.process import MentalProcess, Placeholders

SOUL_TEXT = "soul"
SYSTEM_TEXT = "prompts/system"
MOODS_TEXT = "prompts/moods"
ABILITIES_TEXT = "prompts/abilities"
"""The text of what the soul can do, of which those lines are told that hold here."""
FORM_TEXT = "prompts/form"
"""The text of how it answers."""
ALLOWED_TEXT = "prompts/allowed"
"""The text that names the processes which the answer may turn to."""
LABELS_TEXT = "prompts/labels"
REMINDED_TEXT = "prompts/reminded"
"""The text that stands in the place of who spoke where nobody did; executions that were begun before there
was one see a reminder as something that was said."""
WHEN_FOLDER = "prompts/when/"
"""How the names of the texts begin that say when one goes over into a process."""
AS_IS = Placeholders(None)
PLAIN = Placeholders()
NAMED = Placeholders({"name"})
SECTION = Placeholders({"tag", "name", "verb", "moods", "processes", "reasons", "ways"}, "tag")
FUSED = Placeholders({"tags", "allowed", "sections", "guidance", "name"}, ("tags", "sections"))
"""A text that asks for sections names them, or explains them itself, as before the system text did."""
WORDING: dict[str, Placeholders] = {
    SOUL_TEXT: AS_IS,
    SYSTEM_TEXT: AS_IS,
    MOODS_TEXT: AS_IS,
    ABILITIES_TEXT: Placeholders({"actions", "name"}),
    FORM_TEXT: Placeholders({"sections", "moods", "mood", "process", "name"}, "sections"),
    ALLOWED_TEXT: Placeholders({"tag", "processes", "name"}, "processes"),
    f"{PLAYBOOK_FOLDER}expert": AS_IS,
    "prompts/person": Placeholders({"names", "place", "name"}),
    REMINDED_TEXT: Placeholders({"names", "place", "name"}, "names"),
    "prompts/known": Placeholders({"person", "notes"}, "notes"),
    "prompts/mood": Placeholders({"mood", "name"}),
    "prompts/time": Placeholders({"weekday", "date", "time"}),
    "prompts/pipeline": FUSED,
    "prompts/plain": FUSED,
    "prompts/plain_mode/system": Placeholders({"character", "name", "weekday", "date"}, "character"),
    "prompts/plain_mode/note": Placeholders(
        {"names", "place", "weekday", "date", "time", "known", "guidance", "name"}, "guidance"
    ),
    "prompts/plain_mode/known": Placeholders({"person", "notes", "name"}, "notes"),
    "prompts/plain_mode/again": NAMED,
    "prompts/plain_mode/words": AS_IS,
    "prompts/silence": NAMED,
    "prompts/interrupted": Placeholders({"log"}, "log"),
    LABELS_TEXT: AS_IS,
    CHOOSING: AS_IS,
    "prompts/notes": Placeholders({"findings", "name"}, "findings"),
    "prompts/think": NAMED,
    "prompts/judge": Placeholders({"goal", "name"}),
    "prompts/conclude": NAMED,
    "prompts/unfinished": NAMED,
    "prompts/reminder": Placeholders({"text"}, "text"),
    "prompts/look_up/schema": AS_IS,
    "prompts/look_up/sections": AS_IS,
    "prompts/look_up/images": AS_IS,
    "prompts/look_up/speed": AS_IS,
    "prompts/trace": Placeholders({"processes", "actions", "calls", "tokens", "cost"}),
    "prompts/sentences/trace_link": Placeholders({"link"}, "link"),
    "prompts/inner/commands": Placeholders({"help"}, "help"),
    "prompts/inner/compare": Placeholders({"before", "now"}, "now"),
    "prompts/inner/reflex/rephrase": Placeholders({"repeated"}, "repeated"),
    "prompts/inner/reflex/flashback": Placeholders({"repeated", "id", "when"}, "id"),
    "prompts/inner/reflex/switch": Placeholders({"repeated", "id", "task"}, "id"),
    "prompts/inner/reflex/neighbour": Placeholders({"repeated", "neighbour"}, "neighbour"),
    "prompts/inner/reflex/owner": Placeholders({"repeated", "owner"}, "owner"),
    "prompts/inner/reflex/pause": Placeholders({"repeated", "minutes"}),
    **{step.prompt: SECTION for step in STEPS_BY_NAME.values()},
    "prompts/sentences/unreachable": PLAIN,
    "prompts/sentences/account": PLAIN,
    "prompts/sentences/still_thinking": NAMED,
    "prompts/sentences/waiting": NAMED,
    "prompts/sentences/over_budget": PLAIN,
    "prompts/sentences/lost_words": PLAIN,
    "prompts/sentences/half_said": PLAIN,
    "prompts/sentences/too_long": PLAIN,
    "prompts/sentences/unsayable": PLAIN,
    "prompts/sentences/failed": PLAIN,
    "prompts/sentences/cut": PLAIN,
    "prompts/sentences/changed": PLAIN,
    "prompts/sentences/stopped": PLAIN,
    "prompts/sentences/parked": PLAIN,
    "prompts/sentences/nothing_traced": PLAIN,
    "prompts/sentences/limit": Placeholders({"bound", "owner"}),
    "prompts/sentences/limit_for_good": Placeholders({"bound"}),
    "prompts/sentences/approve": Placeholders({"action", "args", "owner"}),
    "prompts/sentences/left_out": PLAIN,
    "prompts/sentences/escalated": Placeholders({"owner"}),
    "prompts/sentences/escalated_to_nobody": PLAIN,
}
"""Each text by name, and its placeholders."""


def _no_faults(_one: Playbook | str, _playbooks: Collection[str]) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCatalogue:
    """The texts that must be there, by name; those that have `defaults` need no file."""

    texts: Mapping[str, Placeholders] = field(default_factory=WORDING.copy)
    defaults: Mapping[str, str] = field(default_factory=dict)
    book_faults: Callable[[Playbook, Collection[str]], Iterable[str]] = _no_faults
    """Finds faults of a playbook that names what does not exist; the second argument names all playbooks."""
    ability_faults: Callable[[str, Collection[str]], Iterable[str]] = _no_faults
    """Finds the same in the text of what the soul can do."""

    @property
    def prompts(self) -> Sequence[str]:
        """The names of all but the playbooks."""
        return [name for name in self.texts if not name.startswith(PLAYBOOK_FOLDER)]

    @property
    def playbooks(self) -> Sequence[str]:
        """The names of the playbooks."""
        return [name for name in self.texts if name.startswith(PLAYBOOK_FOLDER)]

    def fault(self, name: str, text: str) -> str | None:
        """What is wrong with a text, in a sentence for the owner; None when it can be used."""
        if not text.strip():
            return "it is empty: write it, or put it back"
        if name.startswith(PLAYBOOK_FOLDER):
            return _playbook_fault(name.removeprefix(PLAYBOOK_FOLDER), text)
        if name == MOODS_TEXT and not parse_moods(text):
            return "it has no line of the form `- mood: thinks | says | is thinking…`"
        if name == CHOOSING:
            return "; ".join(chooser_text_faults(text)) or None
        return _template_fault(Template(text), self.texts.get(name, AS_IS))

    def misfit(self, name: str, text: str, playbooks: Collection[str]) -> str | None:
        """Return a sentence on what a usable text names that does not exist; None if all does."""
        if name == ABILITIES_TEXT:
            return "; ".join(self.ability_faults(text, playbooks)) or None
        if not name.startswith(PLAYBOOK_FOLDER):
            return None
        book = parse_playbook(name.removeprefix(PLAYBOOK_FOLDER), text)
        return "; ".join(self.book_faults(book, playbooks)) or None


def prompt_catalogue(processes: Iterable[object], *more: Mapping[str, Placeholders]) -> PromptCatalogue:
    """The texts of the soul, with those that these processes need, and `more`."""
    texts = dict(WORDING)
    defaults: dict[str, str] = {}
    for needed in more:
        texts |= needed
    for process in processes:
        if not isinstance(process, MentalProcess):
            continue
        texts |= process.texts
        if process.when:
            name = WHEN_FOLDER + process.name
            texts[name] = NAMED
            defaults[name] = process.when
    return PromptCatalogue(texts=texts, defaults=defaults)


def are_prompt_texts(needed: object) -> bool:
    """Does this say which texts are needed, and what each may hold?"""
    return isinstance(needed, Mapping) and all(isinstance(words, Placeholders) for words in needed.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Mood:
    """One mood of the soul, and the verbs that it lends to thoughts, speech and the status line."""

    name: str
    thinks: str
    says: str
    status: str


def _playbook_fault(name: str, text: str) -> str | None:
    try:
        parse_playbook(name, text)
    except ValueError as error:
        return str(error)
    return None


def _template_fault(template: Template, words: Placeholders) -> str | None:
    if words.may is None:
        return None
    if not template.is_valid():
        return "it has a `$` that begins no placeholder (write `$$` for a dollar sign)"
    used = set(template.get_identifiers())
    strange = sorted(used.difference(words.may))
    if strange:
        known = [f"${word}" for word in sorted(words.may)]
        return f"it uses ${', $'.join(strange)}; it may use: {', '.join(known) or 'none'}"
    if words.must and used.isdisjoint(words.needed):
        lacks = " or ".join(f"${word}" for word in words.needed)
        return f"it lacks {lacks}, without which it asks for nothing"
    return None


class OwnerTextSource(Protocol):
    """A holder of the owner's texts: a turn, as of its begin, or the daemon, as they are now."""

    def text(self, name: str) -> str:
        """The owner's text of that name."""


def process_reason(soul: OwnerTextSource, source: str) -> str:
    """When one goes over into a process: as its playbook says, if it does, or a text of its own."""
    if source.startswith(PLAYBOOK_FOLDER):
        return parse_playbook(source.removeprefix(PLAYBOOK_FOLDER), soul.text(source)).when
    return fill_prompt(soul, source)


def fill_prompt(soul: OwnerTextSource, name: str, **words: str) -> str:
    """A text of the owner's, filled; `name` (the soul's) is known."""
    return fill_placeholders(soul.text(name), name=soul_name_in(soul.text(SOUL_TEXT)), **words)


def placeholder_names(text: str) -> Collection[str]:
    """The names of the placeholders of a text."""
    return Template(text).get_identifiers()


def fill_placeholders(text: str, /, **words: object) -> str:
    """A text with its placeholders filled."""
    return Template(text).substitute(words).strip()


def parse_labels(text: str) -> dict[str, str]:
    """Short words for buttons and the status line: lines `- meaning: label`; all others are notes."""
    return {meaning: label for meaning, label in _listed(text) if label}


def _listed(text: str) -> Iterator[tuple[str, str]]:
    """The lines `- name: value` of a text."""
    for line in text.splitlines():
        if line.startswith("- "):
            name, _, value = line.removeprefix("- ").partition(":")
            yield name.strip(), value.strip()


def split_by_headings(text: str) -> dict[str, str]:
    """The parts of a text by their headings (`## heading`); what stands above the first one is a note."""
    _, *parts = f"\n{text}".split("\n## ")
    named = [part.partition("\n") for part in parts]
    return {name.strip(): words.strip() for name, _, words in named}


@functools.lru_cache
def parse_process_words(text: str) -> Mapping[str, Sequence[str]]:
    """Words that lead to a process: lines `- process: words, other words`; all others are notes."""
    found = {}
    for name, words in _listed(text):
        known = [" ".join(word.casefold().split()) for word in words.split(",") if word.strip()]
        if known:
            found[name] = known
    return found


def two_buttons(text: str, yes: str, no: str) -> tuple[Button, Button]:
    """The two buttons under a question whose answers are these, as this file of labels calls them."""
    known = parse_labels(text)
    agree = Button(label=known.get(yes, yes), value=yes, style="primary")
    decline = Button(label=known.get(no, no), value=no, style="danger")
    return agree, decline


@functools.lru_cache
def parse_moods(text: str) -> Mapping[str, Mood]:
    """The moods of a moods file: lines `- mood: thinks | says | is thinking…`; all others are notes."""
    found = {}
    for name, verbs in _listed(text):
        parts = [part.strip() for part in verbs.split("|")]
        if len(parts) == 3 and all(parts):
            thinks, says, status = parts
            found[name] = Mood(name=name, thinks=thinks, says=says, status=status)
    return found


def soul_name_in(soul: str) -> str:
    """The soul's name: the first heading of its character."""
    for line in soul.splitlines():
        if line.startswith("# "):
            return line.removeprefix("# ").strip()
    return "Soul"
