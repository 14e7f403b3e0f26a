"""Choices as models write them; ambiguous ones are rejected."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.answers.choice import ChoiceUnreadable, match_name, parse_choice

PLAIN = '{"why": "w", "actions": ["A", "B"]}'
AB: list[tuple[str, object]] = [("A", None), ("B", None)]

READ: list[tuple[str, list[tuple[str, object]]]] = [
    (PLAIN, AB),
    ('{"actions": ["A", "B"], "reasoning": "w"}', AB),
    (f"```json\n{PLAIN}\n```", AB),
    (f"```\n{PLAIN}\n```\nI hope that helps [1].", AB),
    (f"Let me see. I {{think}} this [is] it:\n\n{PLAIN} Right?", AB),
    (f"{PLAIN}\n\n{PLAIN}", AB),
    (f'<think>maybe {{"actions": ["X"]}} or</think>{PLAIN}', AB),
    ('{"why": "a, ] \\" ,}", "actions": ["A", "B",],}', AB),
    ('{"why": "two\nlines", "actions": ["A", "B"]}', AB),
    ('{"actions": [{"name": "A", "args": {"x": "</think>"}}]}', [("A", {"x": "</think>"})]),
    ('{"actions": "A"}', [("A", None)]),
    ('{"actions": {"name": "A", "args": {"x": 1}}}', [("A", {"x": 1})]),
    ('{"action": "A"}', [("A", None)]),
    ('{"action": "A", "args": {"x": 1}}', [("A", {"x": 1})]),
    ('{"action": {"name": "A", "arguments": {"x": 1}}}', [("A", {"x": 1})]),
    ('{"actions": [{"action": "A"}, "B"]}', AB),
    ('{"name": "A", "args": {"x": [1, 2,],}}', [("A", {"x": [1, 2]})]),
    ('{"actions": [{"name": "A", "args": {"x": "a, ] \\" ,}"},}]}', [("A", {"x": 'a, ] " ,}'})]),
    ('["A", "B"]', AB),
    ('["A", {"name": "B"}]', AB),
    ('{"actions": [{"name": "A", "args": "{\\"x\\": 1}"}]}', [("A", {"x": 1})]),
    ('{"actions": [{"name": "A", "args": "find x"}]}', [("A", "find x")]),
    ('{"actions": [" A ", {"name": "B", "args": null}]}', AB),
    ('see ["x"] and then {"actions": ["A"]}', [("A", None)]),
    ('{"result": 1} {"actions": ["A"]}', [("A", None)]),
]

UNREADABLE = [
    "",
    "A",
    "I would think first.",
    PLAIN + " " * 20_000,
    "{}",
    "[]",
    "[1, 2]",
    '{"actions": []}',
    '{"actions": null}',
    '{"actions": [1]}',
    '{"actions": [["A"]]}',
    '{"actions": [{"args": {}}]}',
    '{"why": "cut o',
    '{"why": "w", "actions": ["A", "B"',
    '{"why": "w", "actions": [{"name": "A", "args": {"x": 1}}, {"name": "B", "ar',
    '{"why": "w", "actions": [{"action": "A"}, ',
    '{"actions": ["A"]} no, wait: {"actions": ["B"]}',
    '{"actions": [{"name": "A", "args": {"x": 1}}]} {"actions": [{"name": "A", "args": {"x": 2}}]}',
    '{"actions": ' + "[" * 15_000,
    "[" * 15_000,
    '{"actions": [{"name": "A", "args": ' + "1" * 5_000 + "}]}",
]


@pytest.mark.parametrize(("reply", "expected"), READ)
def test_what_can_be_read(reply: str, expected: list[tuple[str, object]]) -> None:
    choice = parse_choice(reply)
    assert [(one.name, one.args) for one in choice.actions] == expected
    assert isinstance(choice.why, str)


@pytest.mark.parametrize("reply", UNREADABLE, ids=lambda reply: reply[:40])
def test_what_cannot(reply: str) -> None:
    with pytest.raises(ChoiceUnreadable) as error:
        parse_choice(reply)
    assert len(str(error.value)) < 150


@pytest.mark.parametrize("field", ["why", "reasoning"])
def test_the_sentence_for_the_log(field: str) -> None:
    assert parse_choice(f'{{"actions": ["A"], "{field}": "because"}}').why == "because"


@given(st.integers(0, len(PLAIN) - 1))
def test_no_part_of_a_choice_is_a_choice(end: int) -> None:
    with pytest.raises(ChoiceUnreadable):
        parse_choice(PLAIN[:end])


@given(st.text(st.sampled_from('{}[]",:\\ aA1\n'), max_size=60) | st.text())
@settings(max_examples=5 * settings().max_examples)
def test_nothing_else_is_raised_whatever_a_model_writes(reply: str) -> None:
    try:
        choice = parse_choice(reply)
    except ChoiceUnreadable:
        return
    assert choice.actions
    assert [one.identity.encode() for one in choice.actions]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(), x, max_size=3),
        max_leaves=9,
    )
)
def test_arguments_arrive_as_they_were_written(args: object) -> None:
    [chosen] = parse_choice(json.dumps({"actions": [{"name": "A", "args": {"x": args}}]}) + " ,]").actions
    assert chosen.args == {"x": args}


@pytest.mark.parametrize(
    "reply",
    [
        '"\\"' * 6_000,
        "{" + '"\\"' * 6_000,
        "{" * 20_000,
        '{"' * 10_000,
        "[{,}" * 5_000,
        "{" * 999_999,
    ],
    ids=lambda reply: reply[:9],
)
def test_no_answer_takes_long_to_read(reply: str) -> None:
    began = time.process_time()
    with pytest.raises(ChoiceUnreadable):
        parse_choice(reply)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Think", "Think"), ("think", "Think"), ("LOOK", None), ("Look", "Look"), ("look", "look"), ("x", None)],
)
def test_a_name_may_differ_in_case_where_that_is_clear(name: str, expected: str | None) -> None:
    assert match_name(name, ["Think", "Look", "look"]) == expected
