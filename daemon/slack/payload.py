"""What Slack sends, read so that nothing in it can hurt: JSON, and the fields of its objects. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from slack_sdk.web.async_slack_response import AsyncSlackResponse

ID = re.compile(r"[A-Z0-9]{1,50}")
TS = re.compile(r"[0-9]{1,11}\.[0-9]{1,20}")
"""No later than any date can be: whoever tells when something was said could not."""
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""A string of JSON, or the beginning or end of an object or list. One that breaks off is read once, too."""


class MalformedPayload(ValueError):
    """An event without what Slack promises; the text names the field, never what people wrote."""

    recorded_name = "Malformed"


def parse_json(text: object) -> object:
    """What this JSON says; None where it is none, or nested too deeply to be read."""
    if not isinstance(text, str):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def string_at(text: str, name: str) -> str:
    """The string under this name in an object that cannot be read whole; empty if there is none.

    However deeply its other parts are nested, they are passed over.
    """
    depth = 0
    last = ""
    for token in TOKEN.finditer(text):
        sign = token[0]
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        elif depth == 1 and last == f'"{name}"':
            return str(parse_json(sign) or "")
        last = sign
    return ""


def first_text(whole: object, *names: str) -> str:
    """The first text under one of these names; empty where none is a text."""
    if not isinstance(whole, Mapping):
        return ""
    for name in names:
        value = whole.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def count_at(value: object) -> int:
    """This whole number that counts something; 0 where it is none."""
    return value if type(value) is int and value > 0 else 0


def object_or_empty(whole: Mapping[str, Any] | AsyncSlackResponse, name: str) -> Mapping[str, Any]:
    """The object under this name; an empty one where it is not what Slack promises."""
    value = whole.get(name)
    return value if isinstance(value, Mapping) else {}


def display_name(user: Mapping[str, Any]) -> str:
    """What a person, as Slack describes them, is called; empty where it does not say."""
    return first_text(user.get("profile"), "display_name", "real_name") or first_text(user, "name")


def object_at(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under this name."""
    value = event.get(name)
    if not isinstance(value, Mapping):
        raise MalformedPayload(f"no {name}")
    return value


def objects_at(event: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The objects in the list under this name; what is none of them is passed over."""
    items = event.get(name)
    if not isinstance(items, list):
        return []
    return [item for item in items if isinstance(item, Mapping)]


def _text(event: Mapping[str, Any], name: str) -> str:
    value = event.get(name)
    if not isinstance(value, str) or not value:
        raise MalformedPayload(f"no {name}")
    return value


def id_at(event: Mapping[str, Any], name: str) -> str:
    """The id of someone or of some place, under this name."""
    value = _text(event, name)
    if not ID.fullmatch(value):
        raise MalformedPayload(f"a {name} that is no id")
    return value


def timestamp_at(event: Mapping[str, Any], name: str) -> str:
    """The ts under this name."""
    value = _text(event, name)
    if not TS.fullmatch(value):
        raise MalformedPayload(f"a {name} that is no ts")
    return value
