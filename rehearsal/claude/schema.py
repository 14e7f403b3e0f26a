"""An answer in the form of a JSON schema: an instance of it, or a choice among the actions it offers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rehearsal.claude.asked import MESSAGE, RESULT, Asked, chosen, is_spoken
from rehearsal.claude.prompt import Body, texts
from rehearsal.wire import parsed

Schema = Mapping[str, Any]
PLAIN = {"boolean": False, "integer": 0, "number": 0, "null": None}
LOOK_UP = re.compile(
    r"\b(search(ing)?|find(ing)?|look(ing)? (it |that |this )?up|research|check|where|which)\b", re.I
)
BEFORE = re.compile(
    r"\b(remember|earlier|last (time|week|month)|ago|we (said|decided|talked)|I told)\b", re.I
)
END = "DONE"
WHY = {
    "Think": "I begin by putting the question into my own words.",
    "Research": "I was asked to find something, so I look where one can look.",
    "SearchMemory": "I was asked to find something, so I look through what was said before.",
    "Respond": "There is nothing left to look up: time to answer.",
    END: "All that I was asked for is done.",
}


def instance(schema: Schema, asked: Asked, line: str) -> Any:
    """Something that this schema allows; the line stands where it is asked what to say."""
    return _Maker(schema.get("$defs") or {}, asked, line).make(schema)


def is_choice(schema: Schema) -> bool:
    """Whether an answer to this schema is a choice among actions, or of the end."""
    actions = schema.get("properties", {}).get("actions", {})
    return END in _offered(actions.get("items", {}))


def choice(schema: Schema, asked: Asked, body: Body, line: str) -> dict[str, Any]:
    """The first action of its plan that is offered and not done yet: think, look up what is asked, answer."""
    offered = _offered(schema["properties"]["actions"]["items"])
    done = set(_done(body))
    left = [name for name in _plan(asked.words, offered) if name in offered and name not in done]
    name = left[0] if left else END
    args = offered[name]
    action = name if args is None else {"name": name, "args": instance(args, asked, line)}
    return {"why": WHY.get(name, "It is next."), "actions": [action]}


class _Maker:
    """Walks one schema; holds what its parts refer to."""

    def __init__(self, defs: Schema, asked: Asked, line: str) -> None:
        self._defs = defs
        self._asked = asked
        self._line = line

    def make(self, schema: Schema, name: str = "") -> Any:
        if "$ref" in schema:
            return self.make(self._defs[schema["$ref"].rsplit("/", 1)[-1]], name)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return chosen(schema["enum"], self._asked.words)
        for union in ("anyOf", "oneOf", "allOf"):
            if schema.get(union):
                return self.make(schema[union][0], name)
        return self._of_type(schema, name)

    def _of_type(self, schema: Schema, name: str) -> Any:
        kind = schema.get("type", "string")
        if isinstance(kind, list):
            kind = kind[0]
        if kind == "object":
            return {key: self.make(part, key) for key, part in (schema.get("properties") or {}).items()}
        if kind == "array":
            return [self.make(schema.get("items") or {}, name)] * max(1, schema.get("minItems", 1))
        if kind in PLAIN:
            return PLAIN[kind]
        if is_spoken(name, str(schema.get("description", ""))):
            return self._line
        return self._asked.words or "nothing was said"


def _plan(words: str, offered: Mapping[str, object]) -> Iterator[str]:
    yield "Think"
    before = BEFORE.search(words) is not None
    if before or LOOK_UP.search(words):
        places = ("SearchMemory", "Research") if before else ("Research", "SearchMemory")
        yield from [place for place in places if place in offered][:1]
    yield "Respond"
    yield END


def _offered(item: Schema) -> dict[str, Schema | None]:
    """The actions that may stand in the list: each with the schema of its arguments, if it takes any."""
    offered: dict[str, Schema | None] = {}
    for one in item.get("anyOf", [item]):
        for name in one.get("enum", ()):
            offered[name] = None
        if "properties" in one:
            offered[one["properties"]["name"]["const"]] = one["properties"]["args"]
    return offered


def _done(body: Body) -> Iterator[str]:
    """What was chosen, or brought a result, since a person spoke last."""
    for message in _since_a_person_spoke(body["messages"]):
        for text in texts(message["content"]):
            for name, _ in RESULT.findall(text):
                yield name
            if message["role"] == "assistant":
                yield from _chosen(text)


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
            yield str(one["name"] if isinstance(one, dict) else one)
