"""A choice of actions, read from whatever a model answered.

Structured output (schemas.py) makes most of the reading needless where there is one; elsewhere models add
fences, prose and commas. What is cut off or ambiguous is no choice: half of it must never be carried out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from daemon.engine.writable import storable_value
from daemon.mind.sections import spoken_text

DONE = "DONE"
"""The name that ends a run; no action may have it."""
LONGEST = 20_000
"""Characters of an answer that is read at all."""
MOST_BRACKETS = 100
"""So many opening brackets are looked at; what comes after them is not read."""
OPENING = re.compile(r"[{\[]")
COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)
"""A string, which stays, or a comma that closes a list or an object, which goes. It never looks back."""
DECODER = json.JSONDecoder(strict=False)


class ChoiceUnreadable(ValueError):
    """There is no choice in this answer. The text says why, for the model."""

    recorded_name = "Unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenAction:
    """One action as it was chosen: its name as written, and what stood for its arguments (any JSON value)."""

    name: str
    args: object = None

    @property
    def identity(self) -> str:
        """The same for the same action with the same arguments."""
        return json.dumps([self.name, self.args], sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionChoice:
    """What to do next, in order, and the chooser's sentence for the log. It names one action at the least."""

    actions: tuple[ChosenAction, ...]
    why: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the actions, in order."""
        return [chosen.name for chosen in self.actions]

    @property
    def ends_run(self) -> bool:
        """Is the run to be over then?"""
        return DONE in self.names

    def with_matched_names(self, names: Sequence[str]) -> ActionChoice:
        """The same with the name of each action that is meant, where it is one of these."""
        actions = []
        for chosen in self.actions:
            name = match_name(chosen.name, names) or chosen.name
            actions.append(replace(chosen, name=name))
        return replace(self, actions=tuple(actions))

    def without_repeats(self) -> Sequence[ChosenAction]:
        """The actions, each once, in order."""
        once = {chosen.identity: chosen for chosen in self.actions if chosen.name != DONE}
        return list(once.values())

    def repeated_names(self) -> Sequence[str]:
        """The names of those that were chosen more than once."""
        times = Counter(chosen.identity for chosen in self.actions)
        return [chosen.name for chosen in self.without_repeats() if times[chosen.identity] > 1]


def parse_choice(reply: str) -> ActionChoice:
    """The choice in a model's answer. Raises Unreadable where there is none, or more than one."""
    if len(reply) > LONGEST:
        raise ChoiceUnreadable(f"it is longer than {LONGEST} characters")
    found = _choices(spoken_text(reply))
    if not found:
        raise ChoiceUnreadable('there is no whole JSON object with "actions" in it')
    first = found[0]
    if any(choice.actions != first.actions for choice in found):
        raise ChoiceUnreadable("it holds more than one choice")
    if not first.actions:
        raise ChoiceUnreadable("it names no action")
    return first


def _choices(text: str) -> Sequence[ActionChoice]:
    """All that are in it; those without their frame only where none has one."""
    framed: list[ActionChoice] = []
    loose: list[ActionChoice] = []
    for value, sound in find_json_values(text):
        if isinstance(value, Mapping) and "actions" in value:
            framed.append(_choice(value, value["actions"]))
        elif sound and _is_loose(value):
            loose.append(_choice(value, value))
    return framed or loose


def match_name(name: str, names: Sequence[str]) -> str | None:
    """Which of these names is meant: the same one, else the only one that differs in case alone."""
    if name in names:
        return name
    alike = [one for one in names if one.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    return None


def find_json_values(text: str) -> Iterator[tuple[object, bool]]:
    """The JSON values in a text, each with: could all brackets before it be read?

    What stands inside something that breaks off may be a part of it, and is no choice of its own.
    """
    sound = True
    for _ in range(MOST_BRACKETS):
        opening = OPENING.search(text)
        if opening is None:
            return
        text = text[opening.start() :]
        try:
            value, text = _first_value(text)
        except ChoiceUnreadable:
            sound = False
            text = text[1:]
            continue
        yield value, sound


def _first_value(text: str) -> tuple[object, str]:
    """The JSON value with which this begins, and what follows it. Raises Unreadable where there is none."""
    for form in (text, COMMA.sub(r"\1", text)):
        try:
            value, end = DECODER.raw_decode(form)
            return _sendable(value), form[end:]
        except (ValueError, RecursionError):
            continue
    raise ChoiceUnreadable("no JSON value begins here")


def _sendable(value: Any) -> Any:
    """The value as it can be sent on: JSON lets half a surrogate pair pass."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return storable_value(value)
    return value


def _is_loose(value: object) -> bool:
    """Is this a choice without its frame: one action, or a list of them?"""
    if isinstance(value, list):
        return all(isinstance(one, str) or _is_loose(one) for one in value)
    return isinstance(value, Mapping) and ("name" in value or "action" in value)


def _choice(frame: object, actions: object) -> ActionChoice:
    why: object = None
    if isinstance(frame, Mapping):
        why = frame.get("why") or frame.get("reasoning")
    if not isinstance(why, str):
        why = ""
    if not isinstance(actions, list):
        actions = [actions]
    return ActionChoice(actions=tuple(map(_chosen, actions)), why=why)


def _chosen(item: object) -> ChosenAction:
    match item:
        case str(name):
            return ChosenAction(name=name.strip())
        case {"action": Mapping() as inner}:
            return _chosen(inner)
        case {"name": str(name), **rest} | {"action": str(name), **rest}:
            args = rest.get("args", rest.get("arguments"))
            return ChosenAction(name=name.strip(), args=_unpacked(args))
    raise ChoiceUnreadable(f"{json.dumps(item)[:80]} names no action")


def _unpacked(args: object) -> object:
    """The arguments, which may stand there as JSON in a string."""
    if not isinstance(args, str):
        return args
    try:
        return _sendable(DECODER.decode(args))
    except (ValueError, RecursionError):
        return args
