"""Odd cases of a reading model's texts."""

from __future__ import annotations

import pytest

from daemon.reading.loop import parse_reader_answer
from daemon.reading.notebook import (
    canonical_text,
    cell_observation,
    context_as_text,
    context_shape,
    final_text,
    is_short_context,
)
from daemon.sandbox.environment import CellResult


@pytest.mark.parametrize(
    ("text", "final"),
    [
        ("FINAL(1. Alice (p. 3)\n2. Bob (p. 4))", "1. Alice (p. 3)\n2. Bob (p. 4)"),
        ("FINAL(Alice).\nI am sure of it.", "Alice"),
        ("FINAL('it says :) twice')", "it says :) twice"),
        ("FINAL(it's Alice)", "it's Alice"),
        ("FINAL(never closed\nbut here)", "never closed\nbut here"),
        ("FINAL(no end at all", "no end at all"),
        ('SUBMIT("so")', "so"),
    ],
)
def test_a_final_answer_ends_where_its_bracket_does(text: str, final: str) -> None:
    assert parse_reader_answer(text).final == final


def test_a_literal_may_hold_what_breaks_lines_elsewhere() -> None:
    assert parse_reader_answer("```repl\nx = 'a\u2028b'\n```").cells == ("x = 'a\u2028b'",)


def test_a_fence_may_say_more_than_its_language() -> None:
    text = "```python title=look\nprint(1)\n```\nand\n```repl\nprint(2)\n```"
    assert parse_reader_answer(text).cells == ("print(1)", "print(2)")


def test_a_cell_that_broke_off_is_none() -> None:
    assert parse_reader_answer("```repl\nprint(1", whole=False).cells == ()
    assert parse_reader_answer("```repl\nprint(1)").cells == ("print(1)",)


def test_what_stands_in_names_counts_for_how_long_it_is() -> None:
    by_line = {f"line {n} of a long text": 1 for n in range(1_000)}
    assert not is_short_context(by_line, 10_000)
    assert not is_short_context([""] * 100_000, 10_000)
    assert is_short_context({"a.txt": "short"}, 100)


def test_a_set_is_written_the_same_in_each_life() -> None:
    assert canonical_text({"b", "a"}) == "{'a', 'b'}"
    assert canonical_text({"x": [{2, 1}]}) == "{'x': [{1, 2}]}"
    assert final_text({"names": {"b", "a"}}) == "{\"names\": \"{'a', 'b'}\"}"


def test_a_shape_stays_small_whatever_the_names() -> None:
    assert len(context_shape({"x" * 100_000: "y"})) < 2_000
    assert len(cell_observation(CellResult(variables={"v" * 10_000: "int"}))) < 1_000


def test_a_whole_context_is_told_part_by_part() -> None:
    told = context_as_text({"a.txt": "one\n\nmore\n", "b.txt": ["two", "three"]})
    assert told == "a.txt:\n1│ one\n2│ \n3│ more\n\nb.txt:\n1│ two\n\n1│ three"
