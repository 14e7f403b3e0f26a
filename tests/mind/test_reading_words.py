"""What a model that reads may write, and what it is told: the odd cases."""

from __future__ import annotations

import pytest

from daemon.environment import Execution
from daemon.mind.observing import as_text, canonical, final_text, is_short, observation, shape
from daemon.mind.writing import written


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
    assert written(text).final == final


def test_a_literal_may_hold_what_breaks_lines_elsewhere() -> None:
    assert written("```repl\nx = 'a\u2028b'\n```").cells == ("x = 'a\u2028b'",)


def test_a_fence_may_say_more_than_its_language() -> None:
    text = "```python title=look\nprint(1)\n```\nand\n```repl\nprint(2)\n```"
    assert written(text).cells == ("print(1)", "print(2)")


def test_a_cell_that_broke_off_is_none() -> None:
    assert written("```repl\nprint(1", whole=False).cells == ()
    assert written("```repl\nprint(1)").cells == ("print(1)",)


def test_what_stands_in_names_counts_for_how_long_it_is() -> None:
    by_line = {f"line {n} of a long text": 1 for n in range(1_000)}
    assert not is_short(by_line, 10_000)
    assert not is_short([""] * 100_000, 10_000)
    assert is_short({"a.txt": "short"}, 100)


def test_a_set_is_written_the_same_in_each_life() -> None:
    assert canonical({"b", "a"}) == "{'a', 'b'}"
    assert canonical({"x": [{2, 1}]}) == "{'x': [{1, 2}]}"
    assert final_text({"names": {"b", "a"}}) == "{\"names\": \"{'a', 'b'}\"}"


def test_a_shape_stays_small_whatever_the_names() -> None:
    assert len(shape({"x" * 100_000: "y"})) < 2_000
    assert len(observation(Execution(variables={"v" * 10_000: "int"}))) < 1_000


def test_a_whole_context_is_told_part_by_part() -> None:
    told = as_text({"a.txt": "one\n\nmore\n", "b.txt": ["two", "three"]})
    assert told == "a.txt:\n1│ one\n2│ \n3│ more\n\nb.txt:\n1│ two\n\n1│ three"
