"""Values of forms: what fits a field, and the words for what does not."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.turn.forms import (
    FORM_WORDS,
    MOST_CHARACTERS,
    MOST_WHOLE,
    FormChoice,
    FormField,
    QuestionForm,
    form_as_json,
    form_in,
    form_words,
    read_entered,
)

AB = (FormChoice(value="a", label="An apple"), FormChoice(value="b", label="A pear"))
TAKEN: list[tuple[dict[str, Any], object, object]] = [
    ({}, " as it is\n", " as it is\n"),
    ({}, "half \ud800", "half \ufffd"),
    ({}, "x" * MOST_CHARACTERS, "x" * MOST_CHARACTERS),
    ({"kind": "whole number"}, " -7 ", -7),
    ({"kind": "whole number"}, str(MOST_WHOLE), MOST_WHOLE),
    ({"kind": "number"}, "2.50", 2.5),
    ({"kind": "number"}, "3", 3),
    ({"kind": "number"}, "1e3", 1000.0),
    ({"kind": "date"}, "2028-02-29", "2028-02-29"),
    ({"kind": "moment"}, 0, "1970-01-01T00:00:00Z"),
    ({"kind": "email"}, "a.b+c@d-e.example.org", "a.b+c@d-e.example.org"),
    ({"kind": "address"}, "https://example.org/?a=b", "https://example.org/?a=b"),
    ({"kind": "yes or no"}, "yes", True),
    ({"kind": "yes or no"}, "no", False),
    ({"kind": "one", "choices": AB}, "1", "b"),
    ({"kind": "several", "choices": AB, "most": 2}, ["0", "1"], ["a", "b"]),
]


@pytest.mark.parametrize(("about", "entered", "value"), TAKEN)
def test_a_value_that_fits_is_read(about: dict[str, Any], entered: object, value: object) -> None:
    assert read(entered, **about) == ({"it": value}, {})


REFUSED: list[tuple[dict[str, Any], object, str]] = [
    ({}, None, "needed"),
    ({}, "", "needed"),
    ({}, 7, "needed"),
    ({"kind": "several", "choices": AB}, [], "needed"),
    ({"most": 3}, "four", "too long 3"),
    ({"least": 5}, "four", "too short 5"),
    ({"most": 9_999}, "x" * (MOST_CHARACTERS + 1), "too long 3000"),
    ({"kind": "whole number"}, "2.5", "no whole number"),
    ({"kind": "whole number"}, "\u0663", "no whole number"),
    ({"kind": "whole number"}, "1_000", "no whole number"),
    ({"kind": "whole number"}, str(MOST_WHOLE + 1), "no whole number"),
    ({"kind": "whole number"}, "9" * 4_000, "no whole number"),
    ({"kind": "whole number", "most": 3}, "4", "too large 3"),
    ({"kind": "number", "least": 0.5}, "0.4", "too small 0.5"),
    ({"kind": "number"}, "nan", "no number"),
    ({"kind": "number"}, "Infinity", "no number"),
    ({"kind": "number"}, "1e999", "no number"),
    ({"kind": "number"}, "0x10", "no number"),
    ({"kind": "date"}, "2027-02-29", "no date"),
    ({"kind": "date"}, "29.11.2026", "no date"),
    ({"kind": "moment"}, 10**30, "no date"),
    ({"kind": "moment"}, True, "no date"),
    ({"kind": "email"}, "a@b", "no email"),
    ({"kind": "email"}, "a b@c.example", "no email"),
    ({"kind": "address"}, "example.org", "no address"),
    ({"kind": "address"}, "https://[half", "no address"),
    ({"kind": "yes or no"}, "perhaps", "no choice"),
    ({"kind": "one", "choices": AB}, "2", "no choice"),
    ({"kind": "one", "choices": AB}, "-1", "no choice"),
    ({"kind": "one", "choices": AB}, "9" * 5_000, "no choice"),
    ({"kind": "one", "choices": AB}, ["0"], "no choice"),
    ({"kind": "several", "choices": AB}, ["0", 1], "no choice"),
    ({"kind": "several", "choices": AB, "least": 2}, ["0"], "too few 2"),
    ({"kind": "several", "choices": AB, "most": 1}, ["0", "1"], "too many 1"),
]


@pytest.mark.parametrize(("about", "entered", "fault"), REFUSED)
def test_a_value_that_does_not_fit_is_a_fault_in_words(
    about: dict[str, Any], entered: object, fault: str
) -> None:
    assert read(entered, **about) == ({}, {"it": fault})


def test_an_empty_field_that_is_not_needed_has_no_value() -> None:
    assert read("", required=False) == ({}, {})
    assert read([], required=False, kind="several", choices=AB) == ({}, {})


def test_a_form_is_recorded_with_its_words_and_read_back() -> None:
    one = FormField(name="it", label="It", kind="several", choices=AB, default=["a"], least=1)
    form = QuestionForm(title="T", fields=(one,), words=form_words({"needed": "Needed!"}))
    assert form_in(form_as_json(form)) == form
    assert [*form.words] == [*FORM_WORDS]
    assert read_entered(form, {}) == ({}, {"it": "Needed!"})


def test_what_is_no_form_any_more_is_none() -> None:
    assert form_in({}) is None
    assert form_in({"form": ""}) is None
    assert form_in({"form": {"title": 7}}) is None


def read(entered: object, **about: Any) -> tuple[dict[str, Any], dict[str, str]]:
    form = QuestionForm(title="T", fields=(FormField(name="it", label="It", **about),))
    return read_entered(form, {"it": entered})
