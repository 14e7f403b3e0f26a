"""Bounded, exact descriptions of a context and its cells."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.prompts.elements import MOST, cut_middle
from daemon.reading.notebook import (
    HEAD,
    LISTED,
    cell_observation,
    context_as_text,
    context_shape,
    count_characters,
    final_text,
)
from daemon.sandbox.environment import CellResult

ROOM = 25_000
"""Limit of characters for any shape or observation."""
ANY = st.text(st.characters(exclude_categories=()), max_size=50)
ONE = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), ANY, st.binary(max_size=20))
VALUES = st.recursive(
    ONE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=5).map(tuple),
        st.dictionaries(ANY | st.integers(), inner, max_size=5),
    ),
    max_leaves=30,
)


def deep(depth: int, wrap: Any = list) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value] if wrap is list else {"a": value}
    return value


class Unspeakable:
    """Value whose repr fails."""

    def __repr__(self) -> str:
        raise ValueError("no")


HUGE: dict[str, Callable[[], Any]] = {
    "a text": lambda: "x" * 3_000_000,
    "one line": lambda: "\n" * 1_000_000,
    "many texts": lambda: ["x" * 10] * 100_000,
    "many entries": lambda: {f"k{n}": "x" for n in range(30_000)},
    "long names": lambda: {f"{n}{'k' * 100_000}": "x" for n in range(30)},
    "one long text among others": lambda: ["x" * 3_000_000, "y"],
    "a table": lambda: [{"a": n, "b": [n] * 10} for n in range(5_000)],
    "deep lists": lambda: deep(20_000),
    "deep dicts": lambda: deep(20_000, dict),
    "a long number": lambda: 10**5_000,
    "a list of one": lambda: [10**5_000],
    "no words": Unspeakable,
    "bytes": lambda: b"\xff" * 1_000_000,
    "half a character": lambda: "\ud800" * 100_000,
    "names that are no texts": lambda: {(1, "x" * 100_000): "a", None: "b", 10**5_000: "c"},
}


@pytest.mark.parametrize("made", HUGE.values(), ids=HUGE.keys())
def test_a_shape_is_short_whatever_it_is_of(made: Callable[[], Any]) -> None:
    assert len(context_shape(made())) < ROOM


@given(context=VALUES)
def test_whatever_a_context_is_has_a_shape(context: Any) -> None:
    assert context_shape(context).startswith("`context` is a ")
    assert len(context_shape(context)) < ROOM
    assert count_characters(context) >= 0
    assert isinstance(context_as_text(context), str)


@given(parts=st.lists(ANY, max_size=40))
def test_its_figures_are_exact(parts: list[str]) -> None:
    size = sum(map(len, parts))
    told = context_shape(parts)
    assert told.startswith(f"`context` is a list of {len(parts)} elements, {size} characters in all:")
    sizes = re.findall(r"^- context\[(\d+)\]: str, (\d+) characters$", told, re.MULTILINE)
    assert sizes[:LISTED] == [(str(n), str(len(part))) for n, part in enumerate(parts[:LISTED])]
    assert (f"- … and {len(parts) - LISTED} more" in told) == (len(parts) > LISTED)
    assert count_characters(parts) == size


def test_a_text_is_told_by_its_length_its_lines_and_its_beginning() -> None:
    text = "first\n" + "y" * 1_000
    beginning = text[:HEAD]
    assert context_shape(text) == (
        f"`context` is a str of 1006 characters in 2 lines.\nIt begins:\n{beginning} …"
    )
    assert context_shape("") == "`context` is a str of 0 characters in 1 lines.\nIt begins:\n"


def test_documents_are_told_by_their_names() -> None:
    told = context_shape({"a.txt": "one\ntwo", "b.csv": ["x", "yz"], "n": None})
    assert told == (
        "`context` is a dict of 3 entries, 14 characters in all:\n"
        "- context['a.txt']: str, 7 characters\n"
        "- context['b.csv']: list, 3 characters\n"
        "- context['n']: NoneType, 4 characters\n"
        "context['a.txt'] begins:\none\ntwo"
    )


@pytest.mark.parametrize("empty", ["", [], {}, (), None])
def test_nothing_is_told_as_such(empty: Any) -> None:
    assert "`context` is a" in context_shape(empty)


@given(text=ANY.map(lambda text: text * 7), most=st.integers(1, 60))
def test_what_is_left_out_is_counted(text: str, most: int) -> None:
    shown = cut_middle(text, most)
    if len(text) <= most:
        assert shown == text
        return
    head, tail = text[: most * 2 // 3], text[-(most - most * 2 // 3) :]
    assert shown == f"{head}\n[… {len(text) - most} characters left out …]\n{tail}"


@given(
    stdout=ANY.map(lambda text: text * 400),
    stderr=ANY.map(lambda text: text * 400),
    error=ANY,
    value=VALUES,
    variables=st.dictionaries(ANY.map(lambda text: text * 9), ANY, max_size=50),
)
def test_an_observation_is_bounded(
    stdout: str, stderr: str, error: str, value: Any, variables: dict[str, str]
) -> None:
    shown = cell_observation(
        CellResult(stdout=stdout, stderr=stderr, error=error, value=value, variables=variables)
    )
    assert len(shown) < ROOM
    assert len(shown.partition("\n[variables:")[0]) <= MOST + 60 or "[variables:" in stdout + stderr + error


def test_of_many_variables_the_last_are_named() -> None:
    variables = {f"v{n}": "int" for n in range(LISTED + 5)}
    shown = cell_observation(CellResult(stdout="1\n", variables=variables))
    assert shown.startswith("1\n[variables: 5 more, v5: int, ")
    assert shown.endswith("v24: int]")


def test_a_long_name_is_cut() -> None:
    variables = {"a" * 100_000: "int", "b": "C" * 100_000}
    assert len(cell_observation(CellResult(variables=variables))) < 1_000


@pytest.mark.parametrize(
    ("execution", "shown"),
    [
        (CellResult(), "(no output)"),
        (CellResult(value=0), "0"),
        (CellResult(value="text"), "text"),
        (CellResult(value=["text"]), "['text']"),
        (CellResult(stdout="printed\n", value=1), "printed\n1"),
        (
            CellResult(stdout="printed\n", value=["text"], stderr="warned"),
            "printed\n['text']\nstderr: warned",
        ),
        (CellResult(stdout="printed\n", value=False), "printed\nFalse"),
        (CellResult(stdout="printed\n", value=None), "printed"),
        (
            CellResult(stdout="printed\n", stderr="warned\n", error="Error: no\n"),
            "printed\nstderr: warned\nError: no",
        ),
        (CellResult(value=[Unspeakable()]), "<list>"),
    ],
)
def test_what_came_of_a_cell_is_told(execution: CellResult, shown: str) -> None:
    assert cell_observation(execution) == shown


@given(value=VALUES)
def test_any_value_can_be_a_final_answer(value: Any) -> None:
    answer = final_text(value)
    assert isinstance(answer, str)
    if isinstance(value, str):
        assert answer == value.strip()


@pytest.mark.parametrize("made", HUGE.values(), ids=HUGE.keys())
def test_a_final_answer_never_fails(made: Callable[[], Any]) -> None:
    value = made()
    assert isinstance(final_text(value), str)
    assert isinstance(context_as_text(value), str)


def test_a_final_answer_that_is_data_can_be_read_as_such() -> None:
    assert json.loads(final_text({"número": [1, 2.5, None, True]})) == {"número": [1, 2.5, None, True]}
    assert final_text({1, 2}) in ('"{1, 2}"', '"{2, 1}"')


def test_a_whole_context_as_a_text_has_its_names() -> None:
    assert context_as_text({"a.txt": "one", "more": ["two", {"deep": "three"}]}) == (
        "a.txt:\n1│ one\n\nmore:\n1│ two\n\ndeep:\n1│ three"
    )
