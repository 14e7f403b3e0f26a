"""Forms that people fill in to answer a question: fields, checks of what was entered, and their record.

A form is recorded in the `about` of its question with all its words, so that it can be shown again after a
restart. What was entered is checked when it is sent; nothing that does not fit becomes an answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from functools import cache
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from daemon.engine.event import storable_text

FieldKind = Literal[
    "text", "email", "address", "date", "moment", "number", "whole number", "yes or no", "one", "several"
]
"""Kinds of fields. "one" and "several" are selections from the field's choices."""

OPEN_FORM, SUBMITTED, NOT_GIVEN = "open-form", "form-sent", "decline"
"""Values of the button that opens a form, of the answer that a form is, and of the refusal to give it."""

FORM = "form"
"""Name under which a question's `about` has its form."""

MOST_CHARACTERS = 3_000
"""Characters that one field takes."""

MOST_WHOLE = 2**53 - 1
"""Largest integer that every JSON reader represents exactly."""

WHOLE = re.compile(r"[+-]?[0-9]{1,16}")
NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
EMAIL = re.compile(r"[^\s@<>]{1,64}@[^\s@<>.]{1,63}(?:\.[^\s@<>.]{1,63}){1,8}")

FORM_WORDS = (
    *("send", "cancel", "button yes", "button no", "open", "opened", "form not opened"),
    *("needed", "too short", "too long", "too small", "too large", "too few", "too many"),
    *("no number", "no whole number", "no email", "no address", "no date", "no choice"),
)
"""Meanings of the words that a form shows, in the owner's file of labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormChoice:
    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field. `least` and `most` bound a number, the length of a text, or the number of choices.

    `default` is what the field shows at first: a text, a number, a bool, or a list of texts.
    """

    name: str
    label: str
    kind: FieldKind = "text"
    hint: str = ""
    required: bool = True
    default: Any = None
    least: int | float | None = None
    most: int | float | None = None
    choices: tuple[FormChoice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionForm:
    """A form, or, with a `link`, the request to open that address; `host` is shown before it.

    `words` are the labels of its buttons and faults, by meaning.
    """

    title: str
    text: str = ""
    fields: tuple[FormField, ...] = ()
    link: str = ""
    host: str = ""
    words: Mapping[str, str] = field(default_factory=dict)

    def word(self, meaning: str) -> str:
        return self.words.get(meaning) or meaning


def form_words(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the words of a form from the owner's labels."""
    return {meaning: labels.get(meaning, meaning) for meaning in FORM_WORDS}


@cache
def _adapter() -> TypeAdapter[QuestionForm]:
    return TypeAdapter(QuestionForm)


def form_as_json(form: QuestionForm) -> dict[str, Any]:
    return {FORM: asdict(form)}


def form_in(about: Mapping[str, Any]) -> QuestionForm | None:
    """Return the form of a question; None if it has none, or if it was forgotten."""
    if not isinstance(about.get(FORM), Mapping):
        return None
    try:
        return _adapter().validate_python(about[FORM])
    except ValidationError:
        return None


# What was entered


class _NotFitting(ValueError):
    """Value that its field does not take; `meaning` names the fault, `bound` its limit."""

    def __init__(self, meaning: str, bound: object = "") -> None:
        super().__init__(meaning)
        self.meaning = meaning
        self.bound = bound


def read_entered(form: QuestionForm, entered: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of the fields, and the faults in words, both by the names of fields.

    `entered` has texts; for choices, their places as texts; for a moment, Unix seconds. Empty fields that are
    not required have no value.
    """
    values, faults = dict[str, Any](), dict[str, str]()
    for one in form.fields:
        given = entered.get(one.name)
        try:
            if given is None or given in ("", []):
                if one.required:
                    raise _NotFitting("needed")
                continue
            values[one.name] = READERS[one.kind](one, given)
        except _NotFitting as fault:
            faults[one.name] = f"{form.word(fault.meaning)} {fault.bound}".strip()
    return values, faults


def fits(one: FormField, entered: object) -> bool:
    """True if a field takes what was entered."""
    try:
        READERS[one.kind](one, entered)
    except _NotFitting:
        return False
    return True


def _text(one: FormField, given: object) -> str:
    if not isinstance(given, str):
        raise _NotFitting("needed")
    text = storable_text(given)
    _check_length(one, len(text))
    return text


def _check_length(one: FormField, length: int) -> None:
    most = MOST_CHARACTERS if one.most is None else min(one.most, MOST_CHARACTERS)
    if length > most:
        raise _NotFitting("too long", most)
    if one.least is not None and length < one.least:
        raise _NotFitting("too short", one.least)


def _email(one: FormField, given: object) -> str:
    text = _text(one, given).strip()
    if not EMAIL.fullmatch(text):
        raise _NotFitting("no email")
    return text


def _address(one: FormField, given: object) -> str:
    text = _text(one, given).strip()
    try:
        parts = urlsplit(text)
    except ValueError:
        raise _NotFitting("no address") from None
    if not parts.scheme or not parts.netloc or re.search(r"\s", text):
        raise _NotFitting("no address")
    return text


def _date(_one: FormField, given: object) -> str:
    try:
        if isinstance(given, str) and DATE.fullmatch(given):
            return date.fromisoformat(given).isoformat()
    except ValueError:
        pass
    raise _NotFitting("no date")


def _moment(_one: FormField, given: object) -> str:
    try:
        if isinstance(given, int) and not isinstance(given, bool):
            return datetime.fromtimestamp(given, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        pass
    raise _NotFitting("no date")


def _number(one: FormField, given: object) -> int | float:
    text = given.strip() if isinstance(given, str) else ""
    if not NUMBER.fullmatch(text):
        raise _NotFitting("no number")
    if WHOLE.fullmatch(text) and abs(int(text)) <= MOST_WHOLE:
        return _within_bounds(one, int(text))
    number = float(text)
    if not math.isfinite(number):
        raise _NotFitting("no number")
    return _within_bounds(one, number)


def _whole_number(one: FormField, given: object) -> int | float:
    text = given.strip() if isinstance(given, str) else ""
    if not WHOLE.fullmatch(text) or abs(int(text)) > MOST_WHOLE:
        raise _NotFitting("no whole number")
    return _within_bounds(one, int(text))


def _within_bounds(one: FormField, number: int | float) -> int | float:
    if one.least is not None and number < one.least:
        raise _NotFitting("too small", one.least)
    if one.most is not None and number > one.most:
        raise _NotFitting("too large", one.most)
    return number


YES, NO = "yes", "no"


def _yes_or_no(_one: FormField, given: object) -> bool:
    if given not in (YES, NO):
        raise _NotFitting("no choice")
    return given == YES


def _one_of(one: FormField, given: object) -> str:
    if not isinstance(given, str) or not given.isdecimal() or len(given) > 4:
        raise _NotFitting("no choice")
    place = int(given)
    if place >= len(one.choices):
        raise _NotFitting("no choice")
    return one.choices[place].value


def _several_of(one: FormField, given: object) -> list[str]:
    if not isinstance(given, list):
        raise _NotFitting("no choice")
    chosen = [_one_of(one, place) for place in given]
    if one.least is not None and len(chosen) < one.least:
        raise _NotFitting("too few", one.least)
    if one.most is not None and len(chosen) > one.most:
        raise _NotFitting("too many", one.most)
    return chosen


READERS: Mapping[FieldKind, Callable[[FormField, object], Any]] = {
    "text": _text,
    "email": _email,
    "address": _address,
    "date": _date,
    "moment": _moment,
    "number": _number,
    "whole number": _whole_number,
    "yes or no": _yes_or_no,
    "one": _one_of,
    "several": _several_of,
}
