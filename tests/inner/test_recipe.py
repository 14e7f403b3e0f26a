"""Values in the slots of a program of the owner's: each becomes a part of one argument, and no option."""

from __future__ import annotations

import pytest

from daemon.recipe import LONGEST, Recipe


def filled(argv: str, **values: str) -> tuple[str, ...]:
    return Recipe(argv=tuple(argv.split())).fill(values)


def test_a_value_stands_where_its_slot_stands() -> None:
    assert filled("p {a} --to={b} x{a}y {}", a="1 2", b="$(b)") == ("p", "1 2", "--to=$(b)", "x1 2y", "{}")


def test_a_value_that_holds_a_slot_is_not_filled_again() -> None:
    assert filled("p {a} {b}", a="{b}", b="{a}") == ("p", "{b}", "{a}")


@pytest.mark.parametrize(
    ("argv", "values", "said"),
    [
        ("p {a}", {"a": "-rf"}, "a may not begin with -"),
        ("p {a}/x", {"a": "-rf"}, "a may not begin with -"),
        ("p --to {a}", {"a": "--at"}, "a may not begin with -"),
        ("p {a} -- x", {"a": "-"}, "a may not begin with -"),
        ("p x-{a} {b}", {"a": "-", "b": "-c"}, "b may not begin with -"),
        ("p {a}", {"a": "x\0y"}, "holds a character"),
        ("p {a}", {"a": "\ud800"}, "holds a character"),
        ("p {a}", {"a": "x" * (LONGEST + 1)}, "a is longer than 2,000"),
        ("p {a}", {"a": ""}, "a needs a value; slots: a"),
        ("p {a}", {"a": "1", "b": "2"}, "there is no slot 'b'; slots: a"),
    ],
)
def test_a_value_that_might_do_something_else_is_refused(
    argv: str, values: dict[str, str], said: str
) -> None:
    with pytest.raises(ValueError, match=said.replace("'", ".")):
        filled(argv, **values)


def test_after_a_literal_a_hyphen_is_a_hyphen() -> None:
    assert filled("p --to={a} x{a} -- {a}", a="-f") == ("p", "--to=-f", "x-f", "--", "-f")
    with pytest.raises(ValueError, match="a may not begin with -"):  # what a value makes is no literal
        filled("p -{b} {a}", a="-f", b="-")
