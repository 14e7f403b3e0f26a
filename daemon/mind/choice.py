"""A choice of actions, read from whatever a model answered; a pure function. Called by daemon/ism.py.

The provider's structured output makes most of this needless where there is one; elsewhere models add fences,
prose and commas. What is cut off or ambiguous is no choice: half of it must never be carried out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from daemon.mind.spoken import spoken

LONGEST = 20_000
"""Characters of an answer that is read at all."""
MOST_BRACKETS = 100
"""So many opening brackets are looked at; what comes after them is not read."""
OPENING = re.compile(r"[{\[]")
COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)
"""A string, which stays, or a comma that closes a list or an object, which goes. It never looks back."""
DECODER = json.JSONDecoder(strict=False)


class Unreadable(ValueError):
    """There is no choice in this answer. The text says why, for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """One action as it was chosen: its name as written, and what stood for its arguments (any JSON value)."""

    name: str
    args: object = None

    @property
    def identity(self) -> str:
        """The same for the same action with the same arguments."""
        return json.dumps([self.name, self.args], sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What to do next, in order, and the chooser's sentence for the log. It names one action at the least."""

    actions: tuple[Chosen, ...]
    why: str = ""


def read_choice(reply: str) -> Choice:
    """The choice in a model's answer. Raises Unreadable where there is none, or more than one."""
    if len(reply) > LONGEST:
        raise Unreadable(f"it is longer than {LONGEST} characters")
    full, loose = [], []
    for value, sound in _values(spoken(reply)):
        if isinstance(value, Mapping) and "actions" in value:
            full.append(_choice(value, value["actions"]))
        elif sound and _is_loose(value):
            loose.append(_choice(value, value))
    found = full or loose
    if not found:
        raise Unreadable('there is no whole JSON object with "actions" in it')
    if any(one.actions != found[0].actions for one in found):
        raise Unreadable("it holds more than one choice")
    if not found[0].actions:
        raise Unreadable("it names no action")
    return found[0]


def meant(name: str, names: Iterable[str]) -> str | None:
    """Which of these names is meant: the same one, else the only one that differs in case alone."""
    known = tuple(names)
    alike = [one for one in known if one.casefold() == name.casefold()]
    return name if name in known else alike[0] if len(alike) == 1 else None


def _values(text: str) -> Iterator[tuple[object, bool]]:
    """The JSON values in a text, each with: could all brackets before it be read?

    What stands inside something that breaks off may be a part of it, and is no choice of its own.
    """
    sound = True
    for _ in range(MOST_BRACKETS):
        if not (opening := OPENING.search(text)):
            return
        text = text[opening.start() :]
        for form in (text, COMMA.sub(r"\1", text)):
            try:
                value, end = DECODER.raw_decode(form)
                json.dumps(value, ensure_ascii=False).encode()  # half a surrogate could not be sent on
            except (ValueError, RecursionError):
                continue
            yield value, sound
            text = form[end:]
            break
        else:
            sound, text = False, text[1:]


def _is_loose(value: object) -> bool:
    """Is this a choice without its frame: one action, or a list of them?"""
    if isinstance(value, list):
        return all(isinstance(one, str) or _is_loose(one) for one in value)
    return isinstance(value, Mapping) and ("name" in value or "action" in value)


def _choice(frame: object, actions: object) -> Choice:
    why = (frame.get("why") or frame.get("reasoning")) if isinstance(frame, Mapping) else None
    items = actions if isinstance(actions, list) else [actions]
    return Choice(actions=tuple(map(_chosen, items)), why=why if isinstance(why, str) else "")


def _chosen(item: object) -> Chosen:
    match item:
        case str(name):
            return Chosen(name=name.strip())
        case {"action": Mapping() as inner}:
            return _chosen(inner)
        case {"name": str(name), **rest} | {"action": str(name), **rest}:
            return Chosen(name=name.strip(), args=_arguments(rest.get("args", rest.get("arguments"))))
    raise Unreadable(f"{json.dumps(item)[:80]} names no action")


def _arguments(args: object) -> object:
    """The arguments, which may stand there as JSON in a string."""
    try:
        return DECODER.decode(args) if isinstance(args, str) else args
    except (ValueError, RecursionError):
        return args
