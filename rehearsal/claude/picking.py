"""A choice among the actions that a schema offers: think, look up what it is about, answer, be done.

What was done already is read in the request, so the next choice follows from it alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehearsal.claude.arguments import arguments
from rehearsal.claude.asked import MESSAGE, RESULT, ModelRequest
from rehearsal.claude.phrasing import together
from rehearsal.claude.prompt import Body, texts
from rehearsal.claude.schema import Schema, instance
from rehearsal.claude.task import named_in
from rehearsal.claude.wanted import looked_for
from rehearsal.claude.wished import END, LOOKS, called, is_deed, meant
from rehearsal.wire import parsed

BEFORE = re.compile(
    r"\b(remember|earlier|last (time|week|month)|ago|we (said|decided|talked)|I told)\b", re.I
)
ABOUT = re.compile(r"\b(?:about|look up)\s+(?P<things>.+)", re.I | re.S)
FILES, SAID, _ = LOOKS
DESCRIBED = re.compile(r"^- \*\*(?P<name>\w+)\*\*: (?P<about>.*)$", re.M)
"""An action that a request offers, with its description."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One step of a plan: an action, why, and the words that it is to look for."""

    name: str
    why: str
    words: str = ""
    about: str = ""
    """The name and the description of a deed; else empty."""


def is_choice(schema: Schema) -> bool:
    """Whether an answer to this schema is a choice among actions, or of the end."""
    actions = schema.get("properties", {}).get("actions", {})
    return END in _offered(actions.get("items", {}))


def choice(schema: Schema, asked: ModelRequest, body: Body, line: str) -> dict[str, Any]:
    """The first step of its plan that is not done yet."""
    offered = _offered(schema["properties"]["actions"]["items"])
    done = _done(body)
    for step in _plan(asked.words, offered, _described(body)):
        if done[step.name]:
            done[step.name] -= 1
            continue
        args = offered[step.name]
        if args is None:
            return {"why": step.why, "actions": [step.name]}
        if step.about:
            given = arguments(args, asked.words, step.about, step.words)
        else:
            given = instance(args, asked, line, step.words or asked.words)
        return {"why": step.why, "actions": [{"name": step.name, "args": given}]}
    return {"why": "All that I was asked for is done.", "actions": [END]}


def topics(words: str) -> list[str]:
    """What these words want looked up, each by itself: several things that are named, or all as one."""
    about = ABOUT.search(words)
    if about:
        named = named_in(about["things"])
        if len(named) > 1:
            return named
    return [words] if looked_for(words) else []


def _plan(words: str, offered: Mapping[str, object], described: Mapping[str, str]) -> list[PlanStep]:
    """What it would do from the beginning, as far as it is offered."""
    steps = [PlanStep(name="Think", why="First I put into words what is wanted, and what I know of it.")]
    deed = _deed(words, offered, described)
    if deed:
        steps += [deed, PlanStep(name="Respond", why="I have done what I may do: time to answer.")]
    else:
        steps += _looking(words, offered)
        steps.append(PlanStep(name="Respond", why="I have looked where I can look: time to answer."))
    return [step for step in steps if step.name in offered]


def _deed(words: str, offered: Mapping[str, object], described: Mapping[str, str]) -> PlanStep | None:
    """Return the deed that these words call by its name, or describe."""
    wish = called(words, offered)
    if wish is None:
        known = {name: described.get(name, "") for name in offered if is_deed(name)}
        wish = meant(words, known)
    if wish is None:
        return None
    about = f"{wish.name} {described.get(wish.name, '')}"
    return PlanStep(
        name=wish.name, why=f"There is an action for that: {wish.name}.", words=wish.rest, about=about
    )


def _described(body: Body) -> dict[str, str]:
    """Return the description of each action that the request offers."""
    said = [text for message in body["messages"] for text in texts(message["content"])]
    said += texts(body.get("system"))
    return {found["name"]: found["about"] for text in said for found in DESCRIBED.finditer(text)}


def _looking(words: str, offered: Mapping[str, object]) -> Iterator[PlanStep]:
    """Where it looks, and for what."""
    place, where = FILES, "our files"
    if BEFORE.search(words) or FILES not in offered:
        place, where = SAID, "what was said before"
    for topic in topics(words):
        wanted = list(looked_for(topic)) or [topic]
        quoted = together([f"“{word}”" for word in wanted])
        yield PlanStep(name=place, why=f"I look through {where} for {quoted}.", words=" ".join(wanted))


def _offered(item: Schema) -> dict[str, Schema | None]:
    """The actions that may stand in the list: each with the schema of its arguments, if it takes any."""
    offered: dict[str, Schema | None] = {}
    for one in item.get("anyOf", [item]):
        for name in one.get("enum", ()):
            offered[name] = None
        if "properties" in one:
            offered[one["properties"]["name"]["const"]] = one["properties"]["args"]
    return offered


def _done(body: Body) -> Counter[str]:
    """How often each action was chosen, or brought a result, since a person spoke last."""
    chose, came = Counter[str](), Counter[str]()
    for message in _since_a_person_spoke(body["messages"]):
        for text in texts(message["content"]):
            came.update(name for name, _ in RESULT.findall(text))
            if message["role"] == "assistant":
                chose.update(_chosen(text))
    return chose | came


def _since_a_person_spoke(messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    for place in reversed(range(len(messages))):
        if any(MESSAGE.search(text) for text in texts(messages[place]["content"])):
            return messages[place:]
    return messages


def _chosen(text: str) -> Iterator[str]:
    """The names of the actions in a choice that was made before; none where it is no such choice."""
    try:
        found = parsed(text)
    except ValueError:
        return
    if isinstance(found, dict):
        for one in found.get("actions", ()):
            if isinstance(one, dict):
                one = one["name"]
            yield str(one)
