"""Forms that MCP servers request (`elicitation/create`), read as forms for people.

A server's texts are material: shown as plain text, cut, without invisible characters. Whatever is larger, or
of another kind than the protocol allows, or asks for a secret, is refused as a whole.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

from daemon.prompts.invisible_text import without_invisible
from daemon.tools.secret_names import asks_for_secret, is_secret_name
from daemon.turn.forms import MOST_WHOLE, FieldKind, FormChoice, FormField, QuestionForm
from daemon.web.address_policy import AddressPolicy, AddressRefused

MOST_FIELDS, MOST_CHOICES, MOST_CHOICES_OF_ALL = 20, 100, 300
MOST_REQUEST = 100_000
"""Characters of a request as JSON."""

MOST_MESSAGE, MOST_LABEL, MOST_HINT, MOST_NAME = 2_000, 150, 250, 200

FORMATS: Mapping[str, FieldKind] = {
    "email": "email",
    "uri": "address",
    "date": "date",
    "date-time": "moment",
}

Refusal = Literal["secret wanted", "form not understood", "form too large", "page not allowed"]
"""Meanings of labels that say why a request is declined."""


class RequestRefused(Exception):
    """A request that is declined without asking anybody; `subject` is the field or host at fault."""

    recorded_name = "RequestRefused"

    def __init__(self, meaning: Refusal, subject: str = "") -> None:
        super().__init__(meaning)
        self.meaning = meaning
        self.subject = subject


def is_too_large(asked: Mapping[str, Any]) -> bool:
    """True if what a server asks is too long, or nested too deeply, to be kept and shown."""
    try:
        return len(json.dumps(asked)) > MOST_REQUEST
    except RecursionError:
        return True


def is_page_request(request: Mapping[str, Any]) -> bool:
    """True if a server wants somebody to open a page, not to fill in a form."""
    params = request.get("params")
    return isinstance(params, Mapping) and params.get("mode") == "url"


def read_request(
    request: Mapping[str, Any], title: str, words: Mapping[str, str], policy: AddressPolicy
) -> QuestionForm:
    """Return a request of a server as a form with this title. Raises RequestRefused.

    `policy` says which pages people may be sent to.
    """
    if is_too_large(request):
        raise RequestRefused("form too large")
    params = request.get("params")
    if request.get("method") != "elicitation/create" or not isinstance(params, Mapping):
        raise RequestRefused("form not understood")
    text = _shown(params.get("message"), MOST_MESSAGE)
    if is_page_request(request):
        return _page(params.get("url"), QuestionForm(title=title, text=text, words=words), policy)
    if params.get("mode", "form") != "form":
        raise RequestRefused("form not understood")
    fields = tuple(_fields(params.get("requestedSchema")))
    if sum(len(one.choices) for one in fields) > MOST_CHOICES_OF_ALL:
        raise RequestRefused("form too large")
    if asks_for_secret(text) and any(_takes_text(one) for one in fields):
        raise RequestRefused("secret wanted")
    return QuestionForm(title=title, text=text, fields=fields, words=words)


def _page(url: object, form: QuestionForm, policy: AddressPolicy) -> QuestionForm:
    try:
        address = policy.check(url if isinstance(url, str) else "")
    except AddressRefused as refusal:
        raise RequestRefused("page not allowed", str(refusal)) from None
    fragment = urlsplit(str(url)).fragment
    link = f"{address.url}#{fragment}" if fragment else address.url
    return QuestionForm(title=form.title, text=form.text, link=link, host=address.host, words=form.words)


def _fields(schema: object) -> Iterator[FormField]:
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise RequestRefused("form not understood")
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        raise RequestRefused("form not understood")
    if len(properties) > MOST_FIELDS:
        raise RequestRefused("form too large")
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    for name, told in properties.items():
        if not isinstance(told, Mapping) or len(name) > MOST_NAME:
            raise RequestRefused("form not understood")
        one = _field(name, told, required=name in needed)
        _check_not_secret(one)
        yield one


def _check_not_secret(one: FormField) -> None:
    """Raise RequestRefused for a field in which people would enter a secret.

    A choice among answers that the server knows tells it no secret.
    """
    if not _takes_text(one):
        return
    if is_secret_name(one.name) or is_secret_name(one.label) or asks_for_secret(one.hint):
        raise RequestRefused("secret wanted", one.label)


def _takes_text(one: FormField) -> bool:
    return one.kind not in ("yes or no", "one", "several")


def _field(name: str, told: Mapping[str, Any], *, required: bool) -> FormField:
    label = _shown(told.get("title"), MOST_LABEL) or _shown(name, MOST_LABEL) or "?"
    hint = _shown(told.get("description"), MOST_HINT)
    common: dict[str, Any] = {"name": name, "label": label, "hint": hint, "required": required}
    match told.get("type"):
        case "boolean":
            return FormField(**common, kind="yes or no", default=_of_type(told, bool))
        case "integer":
            return FormField(**common, kind="whole number", **_number_limits(told))
        case "number":
            return FormField(**common, kind="number", **_number_limits(told))
        case "string":
            return _text_field(common, told)
        case "array":
            return _several(common, told)
    raise RequestRefused("form not understood", label)


def _text_field(common: dict[str, Any], told: Mapping[str, Any]) -> FormField:
    choices = _choices(told, "oneOf")
    if choices:
        return FormField(**common, kind="one", choices=choices, default=_of_type(told, str))
    kind: FieldKind = FORMATS.get(str(told.get("format")), "text")
    default = _of_type(told, str)
    if kind == "moment":
        default = None
    return FormField(
        **common,
        kind=kind,
        default=default,
        least=_count(told.get("minLength")),
        most=_count(told.get("maxLength")),
    )


def _several(common: dict[str, Any], told: Mapping[str, Any]) -> FormField:
    items = told.get("items")
    choices = _choices(items, "anyOf") if isinstance(items, Mapping) else ()
    if not choices:
        raise RequestRefused("form not understood", common["label"])
    default = told.get("default")
    return FormField(
        **common,
        kind="several",
        choices=choices,
        default=[one for one in default if isinstance(one, str)] if isinstance(default, list) else None,
        least=_count(told.get("minItems")),
        most=_count(told.get("maxItems")),
    )


def _choices(told: Mapping[str, Any], titled: str) -> tuple[FormChoice, ...]:
    """Return the choices of an enumeration, plain or with titles; nothing if there is none."""
    if "enum" not in told and titled not in told:
        return ()
    pairs = list(_pairs(told, titled))
    if not pairs or any(not isinstance(value, str) for value, _ in pairs):
        raise RequestRefused("form not understood")
    if len(pairs) > MOST_CHOICES:
        raise RequestRefused("form too large")
    return tuple(
        FormChoice(value=value, label=_shown(label, MOST_LABEL) or _shown(value, MOST_LABEL) or "?")
        for value, label in pairs
    )


def _pairs(told: Mapping[str, Any], titled: str) -> Iterator[tuple[Any, Any]]:
    if titled in told:
        for one in _list(told[titled]):
            if isinstance(one, Mapping):
                yield one.get("const"), one.get("title")
        return
    values = _list(told["enum"])
    names = _list(told.get("enumNames"))
    for place, value in enumerate(values):
        yield value, names[place] if place < len(names) else value


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _number_limits(told: Mapping[str, Any]) -> dict[str, Any]:
    limits = {"least": _number(told.get("minimum")), "most": _number(told.get("maximum"))}
    return {**limits, "default": _number(told.get("default"))}


def _number(value: object) -> int | float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if not math.isfinite(value) or abs(value) > MOST_WHOLE:
        return None
    return value


def _count(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_WHOLE:
        return None
    return value


def _of_type(told: Mapping[str, Any], kind: type) -> Any:
    value = told.get("default")
    return value if isinstance(value, kind) else None


def _shown(text: object, most: int) -> str:
    """Return a text as people may read it: no invisible characters, and not longer than `most`."""
    if not isinstance(text, str):
        return ""
    seen, _ = without_invisible(text[: 2 * most])
    seen = seen.strip()
    return seen if len(seen) <= most else f"{seen[: most - 1]}…"
