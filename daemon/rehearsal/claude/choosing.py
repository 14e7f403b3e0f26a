"""What the understudy chooses where it may choose among actions: think, look up if it is asked to, answer.

Called by script.py for a schema with `actions` and `why`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from daemon.rehearsal.claude.asked import MESSAGE, RESULT, Asked
from daemon.rehearsal.claude.prompt import Body, texts
from daemon.rehearsal.claude.schema import instance
from daemon.rehearsal.parsed import parsed

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


def is_choice(schema: Mapping[str, Any]) -> bool:
    """Whether an answer to this schema is a choice among actions, or of the end."""
    actions = schema.get("properties", {}).get("actions", {})
    return END in dict(_offered(actions.get("items", {})))


def choice(schema: Mapping[str, Any], request: Asked, body: Body, line: str) -> dict[str, Any]:
    """The next action of its plan, in the form of this schema."""
    offered = dict(_offered(schema["properties"]["actions"]["items"]))
    done = set(_done(body))
    plan = [name for name in (*_plan(request.words, offered), END) if name in offered]
    name = next((name for name in plan if name not in done), END)
    args = offered[name]
    action = name if args is None else {"name": name, "args": instance(args, request, line)}
    return {"why": WHY.get(name, "It is next."), "actions": [action]}


def _plan(words: str, offered: Mapping[str, object]) -> Iterator[str]:
    yield "Think"
    if LOOK_UP.search(words) or BEFORE.search(words):
        places = ("SearchMemory", "Research") if BEFORE.search(words) else ("Research", "SearchMemory")
        yield from [place for place in places if place in offered][:1]
    yield "Respond"


def _offered(item: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """The actions that may stand in the list: each with the schema of its arguments, if it takes any."""
    for one in item.get("anyOf", [item]):
        yield from ((name, None) for name in one.get("enum", ()))
        if "properties" in one:
            yield one["properties"]["name"]["const"], one["properties"]["args"]


def _done(body: Body) -> Iterator[str]:
    """What was chosen, or brought a result, since a person spoke last."""
    messages: Sequence[Mapping[str, Any]] = body["messages"]
    spoke = [i for i, one in enumerate(messages) if any(map(MESSAGE.search, texts(one["content"])))]
    for message in messages[spoke[-1] if spoke else 0 :]:
        for text in texts(message["content"]):
            yield from (name for name, _ in RESULT.findall(text))
            if message["role"] == "assistant":
                yield from _chosen(text)


def _chosen(text: str) -> Iterator[str]:
    try:
        found = parsed(text)
    except ValueError:
        return
    for one in found.get("actions", ()) if isinstance(found, dict) else ():
        yield str(one["name"] if isinstance(one, dict) else one)
