"""The owner's words: which files there are, which placeholders each may use, and how they are filled.

Every instruction to a model and every fixed sentence to a person is such a file; life/ reads them. Beside
those that are named here, each file in playbooks/ is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template

from daemon.mind.decree import CHOOSING, faults
from daemon.mind.labels import LABELS
from daemon.mind.playbook import PLAYBOOKS, playbook
from daemon.mind.steps import STEPS

SOUL = "soul"
SYSTEM = "prompts/system"
MOODS = "prompts/moods"
STEP_WORDS = frozenset({"tag", "name", "verb", "moods", "processes"})
WORDING: Mapping[str, frozenset[str] | None] = {
    SOUL: None,
    SYSTEM: None,
    MOODS: None,
    f"{PLAYBOOKS}problem_solving": None,
    f"{PLAYBOOKS}expert": None,
    "prompts/person": frozenset({"names", "place", "name"}),
    "prompts/known": frozenset({"person", "notes"}),
    "prompts/learn": frozenset({"person", "notes", "name"}),
    "prompts/summarize": frozenset({"name"}),
    "prompts/mood": frozenset({"mood", "name"}),
    "prompts/time": frozenset({"weekday", "date", "time"}),
    "prompts/pipeline": frozenset({"sections", "guidance", "name"}),
    "prompts/plain": frozenset({"sections", "guidance", "name"}),
    "prompts/silence": frozenset({"name"}),
    "prompts/greeting": frozenset({"names", "name"}),
    "prompts/interrupted": frozenset({"log"}),
    LABELS: None,
    CHOOSING: None,
    "prompts/notes": frozenset({"findings", "name"}),
    "prompts/think": frozenset({"name"}),
    "prompts/judge": frozenset({"goal", "name"}),
    "prompts/conclude": frozenset({"name"}),
    "prompts/unfinished": frozenset({"name"}),
    "prompts/problem": frozenset({"goal", "rules", "name"}),
    "prompts/closing": frozenset({"name"}),
    "prompts/reminder": frozenset({"text"}),
    "prompts/trace": frozenset({"processes", "actions", "calls", "tokens", "cost", "link"}),
    **{step.prompt: STEP_WORDS for step in STEPS.values()},
    "prompts/sentences/unreachable": frozenset(),
    "prompts/sentences/account": frozenset(),
    "prompts/sentences/mend": frozenset({"what"}),
    "prompts/sentences/over_budget": frozenset(),
    "prompts/sentences/lost_words": frozenset(),
    "prompts/sentences/failed": frozenset(),
    "prompts/sentences/cut": frozenset(),
    "prompts/sentences/stopped": frozenset(),
    "prompts/sentences/not_yours": frozenset(),
    "prompts/sentences/stale": frozenset(),
    "prompts/sentences/parked": frozenset(),
    "prompts/sentences/nothing_traced": frozenset(),
    "prompts/sentences/limit": frozenset({"bound", "owner"}),
    "prompts/sentences/limit_for_good": frozenset({"bound"}),
    "prompts/sentences/approve": frozenset({"action", "args", "owner"}),
    "prompts/sentences/escalated": frozenset({"owner"}),
    "prompts/sentences/escalated_to_nobody": frozenset(),
}
"""Each text by name (its path without .md), and its placeholders; None: taken as it is, `$` and all."""
REQUIRED: Mapping[str, str] = {
    "prompts/pipeline": "sections",
    "prompts/plain": "sections",
    "prompts/interrupted": "log",
    "prompts/notes": "findings",
    "prompts/known": "notes",
    "prompts/learn": "notes",
    "prompts/reminder": "text",
    "prompts/sentences/mend": "what",
    **{step.prompt: "tag" for step in STEPS.values()},
}
"""Placeholders without which a text would ask for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mood:
    """One mood of the soul, and the verbs that it lends to thoughts, speech and the status line."""

    name: str
    thinks: str
    says: str
    status: str


def fault(name: str, text: str) -> str | None:
    """What is wrong with a text, in a sentence for the owner; None when it can be used."""
    if not text.strip():
        return "it is empty"
    if name.startswith(PLAYBOOKS):
        return _playbook_fault(name.removeprefix(PLAYBOOKS), text)
    if name == MOODS:
        return None if moods(text) else "it has no line of the form `- mood: thinks | says | is thinking…`"
    if name == CHOOSING:
        return "; ".join(faults(text)) or None
    allowed = WORDING[name]
    if allowed is None:
        return None
    template = Template(text)
    if not template.is_valid():
        return "it has a `$` that begins no placeholder (write `$$` for a dollar sign)"
    if strange := set(template.get_identifiers()) - allowed:
        known = ", ".join(f"${word}" for word in sorted(allowed)) or "none"
        return f"it uses ${', $'.join(sorted(strange))}; it may use: {known}"
    if (needed := REQUIRED.get(name)) and needed not in template.get_identifiers():
        return f"it lacks ${needed}, without which it asks for nothing"
    return None


def _playbook_fault(name: str, text: str) -> str | None:
    try:
        playbook(name, text)
    except ValueError as error:
        return str(error)
    return None


def fill(text: str, /, **words: str) -> str:
    """A text with its placeholders filled."""
    return Template(text).substitute(words).strip()


def moods(text: str) -> dict[str, Mood]:
    """The moods of a moods file: lines `- mood: thinks | says | is thinking…`; all others are notes."""
    found = {}
    for line in (line for line in text.splitlines() if line.startswith("- ")):
        name, colon, verbs = line.removeprefix("- ").partition(":")
        parts = [part.strip() for part in verbs.split("|")]
        if colon and len(parts) == 3 and all(parts):
            found[name.strip()] = Mood(name=name.strip(), thinks=parts[0], says=parts[1], status=parts[2])
    return found


def name_of(soul: str) -> str:
    """The soul's name: the first heading of its character."""
    heads = (line.removeprefix("# ").strip() for line in soul.splitlines() if line.startswith("# "))
    return next(heads, "Soul")
