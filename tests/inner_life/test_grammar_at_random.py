"""Random answers: parsed in linear time, without invented commands."""

from __future__ import annotations

import json
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.inner_life.grammar import ParsedCommand, parse_commands
from tests.inner_life.random_grammar import PIECES, answer, problem
from tests.inner_life.some_commands import KNOWN, rendered
from tests.soak import shared

SHARE = 1_500
"""Random answers tried here; `make soak` tries 100,000."""
LIST = '{"type": "notes.list"}'
READ = '{"type": "notes.read", "args": {"ids": [5]}}'
TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
LINES = st.fixed_dictionaries(
    {},
    optional={
        "cmd_id": JSON,
        "type": st.sampled_from([*KNOWN, "graph_add", "shell", "nothing"]) | JSON,
        "args": st.dictionaries(st.sampled_from(["ids", "text", "name", "from", "to", "slots"]), JSON) | JSON,
        "description": JSON,
        "more": JSON,
    },
).map(json.dumps)
ENTRIES = st.lists(st.tuples(st.from_regex(r"[\w.\-]{1,9}", fullmatch=True), TEXT, TEXT), max_size=5)


@given(st.lists(st.sampled_from(PIECES) | LINES | st.text(max_size=9), max_size=25).map("".join))
def test_nothing_is_raised_and_nothing_is_carried_out_that_was_not_written(text: str) -> None:
    assert problem(text) == ""


@given(st.lists(LINES, max_size=8))
def test_each_object_in_a_section_is_carried_out_or_told(lines: list[str]) -> None:
    written = parse_commands("\n".join(("# Commands:", *lines, "# End of commands")), KNOWN)
    assert len(written.commands) + len(written.faults) == len(lines)
    assert written.thought == ""


@given(ENTRIES, TEXT)
def test_commands_that_are_written_down_again_are_read_the_same(
    entries: list[tuple[str, str, str]], before: str
) -> None:
    commands = {
        cmd_id: ParsedCommand(
            cmd_id=cmd_id,
            name="diary.add",
            args=None,
            given={"text": f"x{text}", "tags": [text]},
            description=description,
            position=0,
        )
        for cmd_id, text, description in entries
    }
    once = parse_commands(f"I think of {before!r}\n{rendered(commands.values())}", KNOWN)
    assert once.faults == []
    assert [one.cmd_id for one in once.commands] == [*commands]
    again = parse_commands(rendered(once.commands), KNOWN)
    for one, other in zip(once.commands, again.commands, strict=True):
        assert (one.name, one.args, one.given) == (other.name, other.args, other.given)
        assert one.description == other.description


@pytest.mark.parametrize("share", shared(range(2), 2))
def test_a_share_of_the_fuzz(share: int) -> None:
    found = [problem(answer(seed)) for seed in range(share * SHARE // 2, (share + 1) * SHARE // 2)]
    assert [one for one in found if one] == []


HOSTILE = [
    "{\n", "[\n", "]\n", "[]", "{}\n", "```\n", "```json\n{\n```\n", "# Commands:\n", "# End of commands\n",
    "#", " ", "\n", "- ", "- \n", '"', '{"', ",", "1. ", '{"a":\n', '{"a":', "[[{", "#commands ", "\\", "`",
    "> ", "end of ", READ + "\n", READ + " ", '{"commands":[]}\n', '{"k":1},', '"x",', '"\\ud800",',
    '{"type":"notes.read","args":{"ids":["x"]}}\n',
]  # fmt: skip
BEFORE = ["", "# Commands:\n", "```json\n", '# Commands:\n{"type":"notes.read","args":{"ids":[']


@pytest.mark.parametrize("before", shared(BEFORE, 3))
def test_an_answer_takes_as_long_as_it_is(before: str) -> None:
    for piece in HOSTILE:
        text = before + piece * (60_000 // len(piece))
        assert any(taken(text) < 8 * taken(text[:15_000]) + 0.05 for _ in range(3)), piece


def test_a_million_characters_are_read_in_a_moment() -> None:
    bombs = "\n".join([LIST] * 20 + ["{" * 1_000] * 1_000)
    ids = READ.replace("5", "5, " * 300_000 + "5")
    words = READ.replace("5", '"x", ' * 50_000 + "5")
    for text in (bombs, ids, words):
        assert any(taken(f"# Commands:\n{text}") < 1 for _ in range(3))


def taken(text: str) -> float:
    began = process_time()
    parse_commands(text, KNOWN)
    return process_time() - began
