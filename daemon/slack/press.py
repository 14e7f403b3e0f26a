"""Buttons under a message, and what comes when one is pressed. Pure; for the speaker and the inbox."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from daemon.engine.writable import storable_text
from daemon.ports import Button, ButtonRow
from daemon.slack.payload import MalformedPayload, first_text, id_at, object_at, parse_json, timestamp_at
from daemon.slack.text import clean_display_name

ACTION = "answer:"
"""What the action_ids of our buttons begin with."""
LABEL = 75
"""Characters that Slack takes on a button."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonClick:
    """Someone pressed a button at `ts`. `asked` is the key of the question that `value` answers."""

    channel: str
    user: str
    name: str
    ts: str
    label: str
    asked: str
    value: str


def make_button_block(choices: ButtonRow) -> dict[str, Any]:
    """The block of these buttons."""
    elements = [_button(choices.asked, n, choice) for n, choice in enumerate(choices.choices)]
    return {"type": "actions", "elements": elements}


def _button(asked: str, n: int, choice: Button) -> dict[str, Any]:
    button: dict[str, Any] = {
        "type": "button",
        "action_id": f"{ACTION}{n}",
        "text": {"type": "plain_text", "text": choice.label[:LABEL]},
        "value": json.dumps({"asked": asked, "value": choice.value}),
    }
    if choice.style:
        button["style"] = choice.style
    return button


def clicks_in(body: Mapping[str, Any]) -> Iterator[ButtonClick]:
    """The presses of our buttons in a block_actions payload; raises Malformed."""
    for action in body.get("actions", ()):
        if isinstance(action, Mapping) and first_text(action, "action_id").startswith(ACTION):
            yield _press(body, action)


def _press(body: Mapping[str, Any], action: Mapping[str, Any]) -> ButtonClick:
    user, text = object_at(body, "user"), action.get("text")
    asked, value = _answer(action.get("value"))
    return ButtonClick(
        channel=id_at(object_at(body, "channel"), "id"),
        user=id_at(user, "id"),
        name=clean_display_name(first_text(user, "name", "username")),
        ts=timestamp_at(action, "action_ts"),
        label=clean_display_name(first_text(text, "text")),
        asked=asked,
        value=value,
    )


def _answer(value: object) -> tuple[str, str]:
    """Which question is answered, and how."""
    match parse_json(value):
        case {"asked": str(asked), "value": str(answer)}:
            return storable_text(asked), storable_text(answer)
    raise MalformedPayload("a button without its question")
