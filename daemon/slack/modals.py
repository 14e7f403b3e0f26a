"""Modals: forms of questions in Slack, opened by a press and sent as a whole.

The form is read from the journal each time, so a press or a modal from before a restart works. Slack takes
the trigger of a press for three seconds, so nothing but the journal is read before the modal is asked for.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from slack_sdk.errors import SlackApiError

from daemon.engine.event import Entry, of_kind
from daemon.engine.execution import no_lease_check
from daemon.kinds import ConversationOpened, QuestionAsked
from daemon.slack.block_text import (
    MalformedPayload,
    clean_display_name,
    first_text,
    id_at,
    object_at,
    object_or_empty,
    objects_at,
    parse_json,
)
from daemon.slack.incoming import ButtonClick
from daemon.slack.places import SlackWorkspace
from daemon.slack.web_api import OUT_OF_REACH, describe_failure
from daemon.turn.forms import NO, OPEN_FORM, YES, FormField, QuestionForm, fits, form_in, read_entered
from daemon.turn.input_policy import may_answer

CALLBACK = "soul-form"
"""The callback_id of our modals."""

BLOCK, ACTION = "field-", "entered"
TITLE_MOST, LABEL_MOST, HINT_MOST, OPTION_MOST = 24, 300, 300, 75
TEXT_MOST, URL_MOST, ENTERED_MOST = 3_000, 3_000, 3_000
FEW = 10
"""Most options that Slack shows as radio buttons or checkboxes; more are a menu."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormSubmission:
    """A modal that was sent: who, the question's key, its channel, and what was entered, by block id."""

    view: str
    user: str
    name: str
    asked: str
    channel: str
    entered: Mapping[str, object]


# The view of a form


def make_modal(asked: str, channel: str, form: QuestionForm) -> dict[str, Any]:
    """Return the view of a form for the question with the key `asked`."""
    blocks = _introduction(form)
    blocks += [_input_block(form, place, one) for place, one in enumerate(form.fields)]
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": json.dumps({"asked": asked, "channel": channel}),
        "title": _plain(form.title, TITLE_MOST),
        "submit": _plain(form.word("opened" if form.link else "send"), TITLE_MOST),
        "close": _plain(form.word("cancel"), TITLE_MOST),
        "blocks": blocks,
    }


def _introduction(form: QuestionForm) -> list[dict[str, Any]]:
    blocks = list[dict[str, Any]]()
    if form.host:
        blocks.append({"type": "section", "text": _plain(form.host, TEXT_MOST)})
    if form.text:
        blocks.append({"type": "section", "text": _plain(form.text, TEXT_MOST)})
    if form.link:
        blocks.append({"type": "section", "text": _plain(form.link, TEXT_MOST)})
        label = _plain(f"{form.word('open')} {form.host}", OPTION_MOST)
        button = {"type": "button", "action_id": "open-link", "text": label, "url": form.link[:URL_MOST]}
        blocks.append({"type": "actions", "elements": [button]})
    return blocks


def _input_block(form: QuestionForm, place: int, one: FormField) -> dict[str, Any]:
    block: dict[str, Any] = {
        "type": "input",
        "block_id": f"{BLOCK}{place}",
        "label": _plain(one.label, LABEL_MOST),
        "optional": not one.required,
        "element": {"action_id": ACTION, **_element(form, one)},
    }
    if one.hint:
        block["hint"] = _plain(one.hint, HINT_MOST)
    return block


def _element(form: QuestionForm, one: FormField) -> dict[str, Any]:
    match one.kind:
        case "number" | "whole number":
            return _number_input(one)
        case "date":
            return {"type": "datepicker", **_initial("initial_date", one)}
        case "moment":
            return {"type": "datetimepicker", **_initial("initial_date_time", one)}
        case "yes or no":
            options = [_option(form.word("button yes"), YES), _option(form.word("button no"), NO)]
            return _menu(one, options, [0 if one.default else 1] if isinstance(one.default, bool) else [])
        case "one" | "several":
            options = [_option(choice.label, str(place)) for place, choice in enumerate(one.choices)]
            return _menu(one, options, _chosen(one))
        case "email":
            return {"type": "email_text_input", **_initial("initial_value", one)}
        case "address":
            return {"type": "url_text_input", **_initial("initial_value", one)}
    return _text_input(one)


def _initial(name: str, one: FormField) -> dict[str, Any]:
    """Return the default of a field; nothing if Slack would refuse it."""
    return {name: one.default} if one.default and fits(one, one.default) else {}


def _text_input(one: FormField) -> dict[str, Any]:
    most = ENTERED_MOST if one.most is None else min(int(one.most), ENTERED_MOST)
    long = one.most is not None and one.most > 200
    element: dict[str, Any] = {"type": "plain_text_input", "multiline": long, "max_length": max(most, 1)}
    if isinstance(one.default, str) and one.default:
        element["initial_value"] = one.default[:most]
        element["multiline"] = long or "\n" in one.default
    return element


def _number_input(one: FormField) -> dict[str, Any]:
    """Return a field for a number. Whole numbers have bounds only if these are whole, too."""
    element: dict[str, Any] = {"type": "number_input", "is_decimal_allowed": one.kind == "number"}
    for name, number in (("min_value", one.least), ("max_value", one.most), ("initial_value", one.default)):
        text = _digits(number)
        is_initial = name == "initial_value"
        if text and (one.kind == "number" or "." not in text) and (fits(one, text) or not is_initial):
            element[name] = text
    return element


def _digits(number: object) -> str:
    """Return a number as Slack reads it, without an exponent; empty if it is none."""
    if not isinstance(number, int | float) or isinstance(number, bool):
        return ""
    text = f"{Decimal(repr(number)):f}"
    return text.removesuffix(".0")


def _chosen(one: FormField) -> list[int]:
    wanted = one.default if isinstance(one.default, list) else [one.default]
    return [place for place, choice in enumerate(one.choices) if choice.value in wanted]


def _menu(one: FormField, options: Sequence[dict[str, Any]], chosen: Sequence[int]) -> dict[str, Any]:
    """Return a choice: buttons for a few options, if one is needed, else a menu, which can stay empty."""
    several = one.kind == "several"
    if several:
        kind = "checkboxes" if len(options) <= FEW else "multi_static_select"
    else:
        kind = "radio_buttons" if len(options) <= FEW and one.required else "static_select"
    element: dict[str, Any] = {"type": kind, "options": list(options)}
    initial = [options[place] for place in chosen]
    if initial and several:
        element["initial_options"] = initial
    elif initial:
        element["initial_option"] = initial[0]
    return element


def _option(label: str, value: str) -> dict[str, Any]:
    return {"text": _plain(label, OPTION_MOST), "value": value}


def _plain(text: str, most: int) -> dict[str, Any]:
    """Return a text object without markup; Slack takes none that is empty."""
    if len(text) > most:
        text = text[: most - 1] + "…"
    return {"type": "plain_text", "text": text or "-", "emoji": False}


# What was sent


def submission_in(body: Mapping[str, Any]) -> FormSubmission | None:
    """Return a submission of one of our modals; None for other ones. Raises MalformedPayload."""
    view = object_or_empty(body, "view")
    if view.get("callback_id") != CALLBACK:
        return None
    match parse_json(view.get("private_metadata")):
        case {"asked": str(asked), "channel": str(channel)}:
            pass
        case _:
            raise MalformedPayload("a form without its question")
    user = object_at(body, "user")
    return FormSubmission(
        view=id_at(view, "id"),
        user=id_at(user, "id"),
        name=clean_display_name(first_text(user, "name", "username")),
        asked=asked,
        channel=channel,
        entered={block: _entered(value) for block, value in _states(view).items()},
    )


def _states(view: Mapping[str, Any]) -> Mapping[str, Any]:
    values = object_or_empty(object_or_empty(view, "state"), "values")
    return {block: object_or_empty(fields, ACTION) for block, fields in values.items() if _is_map(fields)}


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping)


def _entered(state: Mapping[str, Any]) -> object:
    """Return the text, date, Unix seconds or places that one element holds; None if it is empty."""
    match state.get("type"):
        case "radio_buttons" | "static_select":
            return first_text(state.get("selected_option"), "value") or None
        case "checkboxes" | "multi_static_select":
            return [first_text(option, "value") for option in objects_at(state, "selected_options")]
        case "datepicker":
            return state.get("selected_date")
        case "datetimepicker":
            return state.get("selected_date_time")
    return state.get("value")


class ModalDesk:
    """Forms of questions of this workspace: opened for those who may answer, read when they are sent."""

    def __init__(self, workspace: SlackWorkspace) -> None:
        self._workspace = workspace
        self._journal = workspace.journal
        self._opening = set[asyncio.Task[None]]()

    async def close(self) -> None:
        for task in self._opening:
            task.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)

    def open(self, press: ButtonClick, trigger: str) -> bool:
        """Open the form for a press, in the background; False if the press opens none.

        A press by somebody who may not answer, or on a closed question, opens none.
        """
        if press.value != OPEN_FORM:
            return False
        asked = self._question(press.asked)
        if asked is None:  # its message is posted before the question is recorded
            return True
        form = form_in(asked.event.about)
        if form is None or not self.takes(asked, press.user):
            return False
        task = asyncio.create_task(self._open(asked, press, trigger, form))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
        return True

    def takes(self, asked: Entry[QuestionAsked], user: str) -> bool:
        """True if this question is open, and this person may answer it."""
        pending = self._journal.is_pending(asked.seq)
        return pending and may_answer(asked, user, self._workspace.owners)

    def read(self, sent: FormSubmission) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        """Return the values of a submission by field, and its faults by block id.

        Both are empty if nobody waits for them any more.
        """
        asked = self._question(sent.asked)
        form = form_in(asked.event.about) if asked else None
        if asked is None or form is None or not self.takes(asked, sent.user):
            return {}, {}
        blocks = {one.name: f"{BLOCK}{place}" for place, one in enumerate(form.fields)}
        entered = {name: sent.entered.get(block) for name, block in blocks.items()}
        values, faults = read_entered(form, entered)
        return values, {blocks[name]: fault for name, fault in faults.items()}

    def label(self, sent: FormSubmission) -> str:
        asked = self._question(sent.asked)
        if asked is None:
            return OPEN_FORM
        labels = dict(zip(asked.event.choices, asked.event.labels, strict=False))
        return labels.get(OPEN_FORM, OPEN_FORM)

    def _question(self, key: str) -> Entry[QuestionAsked] | None:
        found = self._journal.get(key)
        if found is None:
            return None
        return next(iter(of_kind(QuestionAsked, [found])), None)

    async def _open(
        self, asked: Entry[QuestionAsked], press: ButtonClick, trigger: str, form: QuestionForm
    ) -> None:
        web = self._workspace.web
        view = make_modal(asked.key, press.channel, form)
        try:
            await web.send_request(no_lease_check, web.client.views_open, trigger_id=trigger, view=view)
        except (SlackApiError, *OUT_OF_REACH) as failure:
            log.warning("Slack did not open a form: %s.", describe_failure(failure))
            await self._tell(asked, press, form.word("form not opened"))

    async def _tell(self, asked: Entry[QuestionAsked], press: ButtonClick, text: str) -> None:
        web = self._workspace.web
        known = self._journal.latest_of_kind(asked.thread, ConversationOpened)
        where: dict[str, Any] = {"channel": press.channel, "user": press.user}
        if known and known.event.ts:
            where["thread_ts"] = known.event.ts
        with suppress(SlackApiError, *OUT_OF_REACH):
            await web.call(no_lease_check, web.client.chat_postEphemeral, **where, text=text)
