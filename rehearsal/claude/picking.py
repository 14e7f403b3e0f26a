"""Choice of the next action: think, search, answer, finish.

Earlier steps are read from the request.
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
from rehearsal.claude.schema_instances import Schema, instance
from rehearsal.claude.task import named_in
from rehearsal.claude.wanted import looked_for
from rehearsal.claude.wished import END, LOOKS, called, is_deed, meant
from rehearsal.wire import parsed

BEFORE = re.compile(
    r"\b(remember|earlier|last (time|week|month)|ago|we (said|decided|talked)|I told)\b", re.I
)
ABOUT = re.compile(r"\b(?:about|look up)\s+(?P<things>.+)", re.I | re.S)
FILES, SAID, _ = LOOKS
DESCRIBED = re.compile(r"^- \*\*(?P<name>[\w.-]+)\*\*: (?:<[^<>]*>)?(?P<about>[^<\n]*)", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """Step of a plan. `words` is its search text."""

    name: str
    why: str
    words: str = ""
    about: str = ""
    """Name and description of an owner's action; else ""."""


def is_choice(schema: Schema) -> bool:
    """True if this schema chooses actions, or the end."""
    actions = schema.get("properties", {}).get("actions", {})
    return END in _offered(actions.get("items", {}))


def choice(schema: Schema, asked: ModelRequest, body: Body, line: str) -> dict[str, Any]:
    """Return the plan's first open step."""
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
    """Split words into searches: several named things, or all as one."""
    about = ABOUT.search(words)
    if about:
        named = named_in(about["things"])
        if len(named) > 1:
            return named
    return [words] if looked_for(words) else []


def _plan(words: str, offered: Mapping[str, object], described: Mapping[str, str]) -> list[PlanStep]:
    steps = [PlanStep(name="Think", why="First I put into words what is wanted, and what I know of it.")]
    deed = _deed(words, offered, described)
    if deed:
        steps += [deed, PlanStep(name="Respond", why="I have done what I may do: time to answer.")]
    else:
        steps += _looking(words, offered)
        steps.append(PlanStep(name="Respond", why="I have looked where I can look: time to answer."))
    return [step for step in steps if step.name in offered]


def _deed(words: str, offered: Mapping[str, object], described: Mapping[str, str]) -> PlanStep | None:
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
    said = [text for message in body["messages"] for text in texts(message["content"])]
    said += texts(body.get("system"))
    return {found["name"]: found["about"] for text in said for found in DESCRIBED.finditer(text)}


def _looking(words: str, offered: Mapping[str, object]) -> Iterator[PlanStep]:
    place, where = FILES, "our files"
    if BEFORE.search(words) or FILES not in offered:
        place, where = SAID, "what was said before"
    for topic in topics(words):
        wanted = list(looked_for(topic)) or [topic]
        quoted = together([f"“{word}”" for word in wanted])
        yield PlanStep(name=place, why=f"I look through {where} for {quoted}.", words=" ".join(wanted))


def _offered(item: Schema) -> dict[str, Schema | None]:
    """Return offered actions with schemas of arguments, None without any."""
    offered: dict[str, Schema | None] = {}
    for one in item.get("anyOf", [item]):
        for name in one.get("enum", ()):
            offered[name] = None
        name = one.get("properties", {}).get("name", {}).get("const")
        if name:  # many tools share a form in which any name may stand
            offered[name] = one["properties"]["args"]
    return offered


def _done(body: Body) -> Counter[str]:
    """Count choices or results per action since a person's last message."""
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
    """Yield the actions of an earlier choice; none for other texts."""
    try:
        found = parsed(text)
    except ValueError:
        return
    if isinstance(found, dict):
        for one in found.get("actions", ()):
            if isinstance(one, dict):
                one = one["name"]
            yield str(one)
