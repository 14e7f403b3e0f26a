"""Buttons under a message, and what comes when one is pressed. Pure; for the speaker and the inbox."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from daemon.engine.writable import writable
from daemon.ports import Choice, Choices
from daemon.slack.payload import Malformed, identity, parsed, part, stamp, told
from daemon.slack.text import named

ACTION = "answer:"
"""What the action_ids of our buttons begin with."""
LABEL = 75
"""Characters that Slack takes on a button."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """Someone pressed a button at `ts`. `asked` is the key of the question that `value` answers."""

    channel: str
    user: str
    name: str
    ts: str
    label: str
    asked: str
    value: str


def buttons(choices: Choices) -> dict[str, Any]:
    """The block of these buttons."""
    elements = [_button(choices.asked, n, choice) for n, choice in enumerate(choices.choices)]
    return {"type": "actions", "elements": elements}


def _button(asked: str, n: int, choice: Choice) -> dict[str, Any]:
    button: dict[str, Any] = {
        "type": "button",
        "action_id": f"{ACTION}{n}",
        "text": {"type": "plain_text", "text": choice.label[:LABEL]},
        "value": json.dumps({"asked": asked, "value": choice.value}),
    }
    if choice.style:
        button["style"] = choice.style
    return button


def presses_of(body: Mapping[str, Any]) -> Iterator[Press]:
    """The presses of our buttons in a block_actions payload; raises Malformed."""
    for action in body.get("actions", ()):
        if isinstance(action, Mapping) and told(action, "action_id").startswith(ACTION):
            yield _press(body, action)


def _press(body: Mapping[str, Any], action: Mapping[str, Any]) -> Press:
    user, text = part(body, "user"), action.get("text")
    asked, value = _answer(action.get("value"))
    return Press(
        channel=identity(part(body, "channel"), "id"),
        user=identity(user, "id"),
        name=named(told(user, "name", "username")),
        ts=stamp(action, "action_ts"),
        label=named(told(text, "text")),
        asked=asked,
        value=value,
    )


def _answer(value: object) -> tuple[str, str]:
    """Which question is answered, and how."""
    match parsed(value):
        case {"asked": str(asked), "value": str(answer)}:
            return writable(asked), writable(answer)
    raise Malformed("a button without its question")
