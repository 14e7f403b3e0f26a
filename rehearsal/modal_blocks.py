"""Views of modals as Slack checks them, and what people enter in them as Slack sends it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rehearsal.blocks import ID_MOST, Block, accepted
from rehearsal.refusal import ApiError

TITLE_MOST, METADATA_MOST, VIEW_MOST, BLOCKS_MOST = 24, 3_000, 250_000, 100
LABEL_MOST, ENTERED_MOST, OPTION_MOST, OPTION_VALUE_MOST = 2_000, 3_000, 75, 150
FEW, MANY = 10, 100
"""Most options of buttons, and of menus."""

TEXTS = ("plain_text_input", "number_input", "email_text_input", "url_text_input")
SINGLE = ("radio_buttons", "static_select")
SEVERAL = ("checkboxes", "multi_static_select")
MOMENTS = {"datepicker": "selected_date", "datetimepicker": "selected_date_time"}
WHOLE, NUMBER = re.compile(r"-?[0-9]+"), re.compile(r"-?[0-9]+(\.[0-9]+)?")
NEEDED = "Please complete this required field."
"""Sentence of Slack's client about an empty field."""


def accepted_view(view: Mapping[str, Any]) -> Block:
    """Return a modal's view with ids added. Raises ApiError as Slack does."""
    if len(json.dumps(view)) > VIEW_MOST:
        raise ApiError("view_too_large")
    if view.get("type") != "modal":
        raise _refused("type: must be modal")
    blocks = view.get("blocks")
    if not isinstance(blocks, list) or len(blocks) > BLOCKS_MOST:
        raise _refused("blocks: no more than 100 items allowed")
    _plain("title", view.get("title"), TITLE_MOST)
    for name in ("submit", "close"):
        if name in view:
            _plain(name, view[name], TITLE_MOST)
    kept = [_checked(block) for block in blocks]
    if any(block["type"] == "input" for block in kept) and "submit" not in view:
        raise _refused("submit: a modal with inputs needs it")
    _text("private_metadata", view.get("private_metadata", "-"), METADATA_MOST)
    _text("callback_id", view.get("callback_id", "-"), ID_MOST)
    return {"clear_on_close": False, "notify_on_close": False, **view, "blocks": _with_ids(kept)}


def _with_ids(blocks: Sequence[Block]) -> list[Block]:
    """Add ids, in parts: Slack takes more blocks in a modal than in a message."""
    return [*accepted(blocks[:50]), *accepted(blocks[50:])]


def _checked(block: object) -> Block:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise _refused("a block needs a type")
    if block["type"] == "input":
        _plain("label", block.get("label"), LABEL_MOST)
        if "hint" in block:
            _plain("hint", block["hint"], LABEL_MOST)
        _check_element(block.get("element"))
    return block


def _check_element(element: object) -> None:
    if not isinstance(element, dict):
        raise _refused("element: missing")
    kind = element.get("type")
    if kind in (*SINGLE, *SEVERAL):
        _check_options(element, FEW if kind in ("radio_buttons", "checkboxes") else MANY)
    elif kind in TEXTS:
        _check_text_input(element)
    elif kind not in MOMENTS:
        raise _refused(f"element: unsupported type {kind}")


def _check_options(element: Block, most: int) -> None:
    options = element.get("options")
    if not isinstance(options, list) or not 0 < len(options) <= most:
        raise _refused(f"options: from 1 to {most} items")
    for option in options:
        _plain("options/text", option.get("text"), OPTION_MOST)
        _text("options/value", option.get("value"), OPTION_VALUE_MOST)
    initial = element.get("initial_options", [element.get("initial_option")])
    if not initial or any(one not in options for one in initial if one is not None):
        raise _refused("initial_options: must be among the options")


def _check_text_input(element: Block) -> None:
    if element["type"] == "number_input" and not isinstance(element.get("is_decimal_allowed"), bool):
        raise _refused("is_decimal_allowed: missing")
    for name in ("initial_value", "min_value", "max_value"):
        if name in element and not isinstance(element[name], str):
            raise _refused(f"{name}: must be a string")
        if name in element and element["type"] == "number_input":
            _check_number(element, name)
    if not 1 <= element.get("max_length", 1) <= ENTERED_MOST:
        raise _refused("max_length: from 1 to 3000")


def _check_number(element: Block, name: str) -> None:
    allowed = NUMBER if element["is_decimal_allowed"] else WHOLE
    if not allowed.fullmatch(element[name]):
        raise _refused(f"{name}: must be a number")
    number = float(element[name])
    if not float(element.get("min_value", number)) <= number <= float(element.get("max_value", number)):
        raise _refused(f"{name}: must lie within the limits")


def state_of(view: Mapping[str, Any], entered: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return `state.values` for what somebody entered, by block id, and what Slack's client refuses."""
    values, faults = dict[str, Any](), dict[str, str]()
    for block in view["blocks"]:
        if block["type"] != "input":
            continue
        id, element = block["block_id"], block["element"]
        told = _value(element, entered.get(id))
        values[id] = {element.get("action_id", "entered"): {"type": element["type"], **told}}
        if not block.get("optional") and not any(told.values()):
            faults[id] = NEEDED
    return values, faults


def _value(element: Block, entered: Any) -> dict[str, Any]:
    kind = element["type"]
    if kind in SINGLE:
        return {"selected_option": _option(element, entered)}
    if kind in SEVERAL:
        found = [_option(element, one) for one in entered or []]
        return {"selected_options": [one for one in found if one]}
    if kind in MOMENTS:
        return {MOMENTS[kind]: entered or None}
    return {"value": entered or None}


def _option(element: Block, value: object) -> Block | None:
    return next((option for option in element["options"] if option["value"] == value), None)


def _plain(name: str, text: object, most: int) -> None:
    if not isinstance(text, dict) or text.get("type") != "plain_text":
        raise _refused(f"{name}: must be plain_text")
    _text(name, text.get("text"), most)


def _text(name: str, text: object, most: int) -> None:
    if not isinstance(text, str) or not 0 < len(text) <= most:
        raise _refused(f"{name}: from 1 to {most} characters")


def _refused(why: str) -> ApiError:
    return ApiError("invalid_arguments", response_metadata={"messages": [f"[ERROR] {why}"]})
