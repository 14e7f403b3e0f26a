"""Commands in an answer, by the table of H13: Russian and English, whole and broken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from daemon.inner_life.grammar import (
    LONGEST,
    MOST_COMMANDS,
    MOST_ITEMS,
    CommandFault,
    ParsedCommands,
    parse_commands,
)
from tests.inner_life.some_commands import KNOWN, Entry, Idle, Link, Which

MARKERS = [("# Команды:", "# Конец команд"), ("# Commands:", "# End of commands")]
LIST = '{"type": "notes.list"}'
ADD = '{"cmd_id": "a", "type": "diary.add", "args": {"text": "Hm."}}'
READ = '{"cmd_id": 2, "type": "notes.read", "args": {"ids": [5]}, "description": "what they said"}'


def reading(answer: str) -> ParsedCommands:
    return parse_commands(answer, KNOWN)


def names(answer: str) -> Sequence[str]:
    written = reading(answer)
    assert [fault.line() for fault in written.faults] == []
    return [one.name for one in written.commands]


def section(*lines: str) -> str:
    return "\n".join(("# Commands:", *lines, "# End of commands"))


def fault(*lines: str) -> CommandFault:
    written = reading(section(*lines))
    assert written.commands == []
    [one] = written.faults
    return one


@pytest.mark.parametrize(("begin", "end"), MARKERS)
def test_a_section_holds_a_command_a_line(begin: str, end: str) -> None:
    answer = f"I think.\n\n{begin}\n{ADD}\n\n{READ}\n{end}\nThat is all."
    written = reading(answer)
    assert written.faults == []
    assert written.thought == "I think.\n\n\nThat is all."
    first, second = written.commands
    assert (first.cmd_id, first.name, first.args) == ("a", "diary.add", Entry(text="Hm."))
    assert (second.cmd_id, second.given, second.description) == ("2", {"ids": [5]}, "what they said")
    assert answer[second.position :].startswith(READ)


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("#Команды", "###### КОНЕЦ  КОМАНД:"),
        ("## commands :  ", "# end of Commands \t"),
        ("   ### Commands:\r", "  #\tEnd of commands\r"),
        ("# Команды:", "# End of commands"),
    ],
)
def test_a_marker_may_be_written_loosely(begin: str, end: str) -> None:
    assert names(f"{begin}\n{LIST}\n{end}\nword") == ["notes.list"]


@pytest.mark.parametrize(
    "inside",
    [
        f"[{ADD}, {READ}]",
        f"[\n  {ADD},\n  {READ}\n]",
        f"[{ADD},\n{READ},]",
        f"- {ADD}\n- {READ}",
        f"1. {ADD}\n2) {READ}",
        f"{ADD},\n{READ},",
        f"{ADD} {READ}",
        f"```json\n{ADD}\n{READ}\n```",
        f"```json\n{ADD}\n{READ}",
        f"~~~\n[{ADD},{READ}]\n~~~",
        json.dumps(json.loads(ADD), indent=4) + "\n" + json.dumps(json.loads(READ), indent=2),
        json.dumps([json.loads(ADD), json.loads(READ)], indent=2),
        f'{{"commands": [{ADD}, {READ}]}}',
        f"{ADD}\r\n\r\n{READ}\r",
    ],
)
def test_a_section_holds_objects_in_any_order_of_lines(inside: str) -> None:
    assert names(section(inside)) == ["diary.add", "notes.read"]
    assert reading(section(inside) + "\n```").thought in ("", "```")


@pytest.mark.parametrize(("begin", "end"), MARKERS)
def test_several_sections_in_one_answer(begin: str, end: str) -> None:
    answer = f"one\n{begin}\n{ADD}\n{end}\ntwo\n{begin}\n{READ}\n{end}\nthree"
    assert names(answer) == ["diary.add", "notes.read"]
    assert reading(answer).thought.split() == ["one", "two", "three"]


def test_the_end_of_a_fence_that_comes_late_hides_no_further_section() -> None:
    first = f"# Commands:\n```json\n{ADD}\n# End of commands\n```\n"
    assert names(f"{first}two\n{section(READ)}") == ["diary.add", "notes.read"]
    assert names(f"{first.removesuffix('```' + chr(10))}two\n{section(READ)}") == ["diary.add", "notes.read"]


@pytest.mark.parametrize(
    ("block", "found"),
    [
        (READ, ["notes.read"]),
        (f"[{ADD}, {READ}]", ["diary.add", "notes.read"]),
        (f'{{"commands": [{ADD}, {READ}]}}', ["diary.add", "notes.read"]),
        (f"{ADD}\n{READ}", ["diary.add", "notes.read"]),
        ('{"ids": [5]}', []),
        ("[1, 2]", []),
        ('{"deep": {"type": "notes.list"}}', []),
        ('{"half": ', []),
    ],
)
@pytest.mark.parametrize("fence", ["```json", "~~~ JSON", "  ````json"])
def test_without_a_section_a_block_of_json_counts_if_it_holds_commands(
    fence: str, block: str, found: Sequence[str]
) -> None:
    answer = f"I think.\n{fence}\n{block}\n{fence.strip()[:3]}{'`' * ('````' in fence)}\nSo."
    assert names(answer) == found
    assert (reading(answer).thought == "I think.\n\nSo.") is bool(found)


@pytest.mark.parametrize(
    "answer",
    [
        f"I would write {READ} if I dared.",
        READ,
        f"Look:\n{READ}\n",
        f"```\n{READ}\n```",
        f"```python\n{READ}\n```",
        f"> ```json\n> {READ}\n> ```",
        f"```\n{section(READ)}\n```",
        f"````\n```\n{section(READ)}\n````",
        f"- ```\n  {section(READ)}\n  ```",
        f"`# Commands:`\n{READ}\n",
        "> " + section(READ).replace("\n", "\n> "),
        f"    # Commands:\n    {READ}",
        f"Write # Commands: then\n{READ}",
        f"# Commands: as follows\n{READ}",
        f"####### Commands:\n{READ}",
        f"# Commandsy\n{READ}",
        "",
    ],
)
def test_what_is_quoted_or_spoken_of_is_no_command(answer: str) -> None:
    assert names(answer) == []
    assert reading(answer).thought == answer.strip()


def test_a_marker_in_a_quotation_changes_nothing_for_the_section_after_it() -> None:
    quoted = f"`# Commands:`\n> # Команды:\n```\n# Commands:\n{LIST}\n```\n"
    assert names(quoted + section(READ)) == ["notes.read"]


@pytest.mark.parametrize(("begin", "end"), MARKERS)
def test_an_unclosed_section_is_read_to_the_end_with_a_warning(begin: str, end: str) -> None:
    written = reading(f"I think.\n{begin}\n{ADD}\n{READ}")
    assert [one.name for one in written.commands] == ["diary.add", "notes.read"]
    [warning] = written.faults
    assert warning.repaired
    assert warning.position == 9
    assert "# End of commands" in warning.what
    again = reading(f"{begin}\n{ADD}\n{begin}\n{READ}\n{end}")
    assert [one.name for one in again.commands] == ["diary.add", "notes.read"]
    assert [one.repaired for one in again.faults] == [True]


def test_an_unclosed_block_and_an_unclosed_list_are_read_with_a_warning() -> None:
    for answer in (f"```json\n{ADD}", section(f"[{ADD}, ")):
        written = reading(answer)
        assert [one.name for one in written.commands] == ["diary.add"]
        assert [one.repaired for one in written.faults] == [True]


def test_marks_that_make_no_sense_are_told() -> None:
    assert "not begun" in reading(f"{LIST}\n# End of commands").faults[0].what
    hidden = reading(f"```\ncode\n\n{section(READ)}")
    assert hidden.commands == []
    assert "never closed" in hidden.faults[0].what
    beside = reading(f"```json\n{ADD}\n```\n{section()}")
    assert beside.commands == []
    [outside] = beside.faults
    assert "outside" in outside.what


@pytest.mark.parametrize(
    ("line", "named", "what"),
    [
        (
            '{"cmd_id": 7, "type": "nots.list"}',
            "nots.list",
            'There is no command "nots.list": is it notes.list or notes.read?',
        ),
        ('{"cmd_id": 7, "type": "xyzzy"}', "xyzzy", '{"type": "help"}'),
        ('{"cmd_id": 7, "type": "file_read"}', "files.read", "which file_read stands for"),
        ('{"cmd_id": 7}', "", "Its type is missing"),
        ('{"cmd_id": 7, "type": 3}', "", "Its type is missing"),
        (
            '{"cmd_id": 7, "type": "notes.list", "why": 1, "id": 2}',
            "notes.list",
            'No command has "why", "id"',
        ),
        ('{"cmd_id": 7, "type": "notes.list", "args": []}', "notes.list", "args are an object"),
        (
            '{"cmd_id": 7, "type": "notes.list", "args": {"ids": 1}}',
            "notes.list",
            'no arguments: leave out "ids"',
        ),
        ('{"cmd_id": 7, "type": "notes.list", "description": {}}', "notes.list", "description is a text"),
        ('{"cmd_id": 7, "type": "notes.read"}', "notes.read", '"ids": Field required'),
        (
            '{"cmd_id": 7, "type": "notes.read", "args": {"ids": ["x"]}}',
            "notes.read",
            '"ids.0": Input should be',
        ),
        (
            '{"cmd_id": 7, "type": "notes.read", "args": {"ids": [1], "all": 1}}',
            "notes.read",
            '"all": there is no such argument',
        ),
        ('{"cmd_id": 7, "type": "graph_add", "args": {}}', "graph_add", "concepts.add or links.add"),
        ('{"cmd_id": 7, "type": "graph_add", "args": {"name": 1, "to": 2}}', "graph_add", "concepts.add or"),
    ],
)
def test_a_command_that_cannot_be_carried_out_is_a_visible_fault(line: str, named: str, what: str) -> None:
    answer = f"I think.\n{section(line, LIST)}"
    written = reading(answer)
    assert [one.name for one in written.commands] == ["notes.list"], "all others are carried out"
    [one] = written.faults
    assert (one.cmd_id, one.name) == ("7", named)
    assert what in one.what
    assert answer[one.position :].startswith(line)
    assert not one.repaired
    assert one.help.partition(" ")[0] == (named if named in KNOWN else "")
    assert one.line().startswith(f"7 {named}".strip() + ": ")
    assert one.what in one.line()
    assert f"character {one.position}" in one.line()
    assert one.help in one.line()


@pytest.mark.parametrize(
    ("broken", "at", "what"),
    [
        ('{"cmd_id": 7, "type": "notes.read", "args": {"ids": [1 2]}}', "2]", "Expecting ',' delimiter"),
        ('{"cmd_id": 7, "type": "notes.read", args: {}}', "args", "Expecting property name"),
        ('{"cmd_id": 7, "type": "notes.read", "args": {"ids": [1]}', "{", "a bracket is missing"),
        (
            '{"cmd_id": 7, "type": "notes.read", "description": "a\nb"}',
            "\n",
            "a line break is written as \\n",
        ),
        ('{"cmd_id": 7, "type": "notes.read", "description": "x}', "\n", "a line break is written as \\n"),
        ('{"cmd_id": 7, "type": "notes.read"} // look', " //", "Something else follows"),
        ('{"cmd_id": 7, "type": "notes.read"}}', "}\n", "Something else follows"),
        ('{"cmd_id": 7, "type": "notes.read", "type": "notes.list"}', "{", '"type" stands twice'),
        ('{"cmd_id": 7, "type": "notes.read", "args": {"a": {"b": 1, "b": 1}}}', "{", '"b" stands twice'),
        ('{"cmd_id": 7, "type": "notes.read", "args": {"ids": [NaN]}}', "{", "NaN is no number"),
        ('{"cmd_id": 7, "type": "notes.read", "args": {"ids": [-Infinity]}}', "{", "-Infinity is no number"),
        ('{"cmd_id": 7, "type": "notes.read", "args": {"ids": [1e999]}}', "{", "too large"),
        (f'{{"cmd_id": 7, "type": "notes.read", "args": {{"ids": [{"9" * 9_999}]}}}}', "{", "9999 digits"),
        (f'{{"cmd_id": 7, "type": "notes.read", "args": {"[" * 99_999}', "{", "nested too deeply"),
        (f'{{"cmd_id": 7, "type": "notes.read", "args": {"[" * 21}{"]" * 21}}}', "{", "nested too deeply"),
    ],
    ids=lambda one: one[-20:] if len(one) > 20 else None,
)
def test_json_that_cannot_be_read_is_a_fault_with_its_place_and_other_lines_go_on(
    broken: str, at: str, what: str
) -> None:
    answer = f"I think.\n{section(LIST, broken, LIST)}"
    written = reading(answer)
    assert [one.name for one in written.commands] == ["notes.list", "notes.list"]
    [one] = written.faults
    assert what in one.what
    assert (one.cmd_id, one.name) == ("7", "notes.read")
    assert one.help == 'notes.read {"ids": [whole number, …]}'
    begin = answer.index(broken)
    assert one.position == answer.index(at, begin if at == "{" else begin + 20)


def test_what_is_no_object_is_told_once_with_all_that_was_left_out() -> None:
    one = fault("First I would", "  like to look around,", "but then I do not.")
    assert "This is no command" in one.what
    assert one.near == "First I would"
    assert one.left_out == len("First I would\n  like to look around,\nbut then I do not.\n")
    for words in ("5", '"notes.list"', "[5]", "[[]]x", "null", "> quoted", "# Commands"):
        assert reading(section(words)).commands == []
        assert reading(section(words)).faults, words


@pytest.mark.parametrize(
    "inner", [f"\n  {LIST}", f'\n{{"type":\n  {LIST}', f'"x",\n  "y":\n    {LIST}\n}}, {{']
)
def test_no_part_of_a_broken_object_is_a_command(inner: str) -> None:
    assert reading(section(f'{{"type": "diary.add", "args": oops {inner}')).commands == []


def test_an_object_without_its_end_takes_no_other_with_it() -> None:
    for indent in ("", "  ", "- ", "  1. "):
        written = reading(section(*(indent + line for line in ('{"type": "notes.list"', LIST, ADD))))
        assert [one.name for one in written.commands] == ["notes.list", "diary.add"]
        assert ["a bracket is missing" in one.what for one in written.faults] == [True]


def test_what_is_too_deep_is_told_so_whether_or_not_it_is_broken() -> None:
    for deep in ("[" * 30, "[" * 30 + "x", "[" * 30 + "]" * 30, "[" * 99_999):
        assert "nested too deeply" in fault(f'{{"type": "notes.list", "args": {deep}}}').what


def test_an_object_that_ends_in_something_else_is_left_out_with_all_of_its_lines() -> None:
    broken = f'{{"type": "cycle.idle", "type": "cycle.idle", "args":\n{LIST}\n}}'
    written = reading(section(broken, ADD))
    assert [one.name for one in written.commands] == ["diary.add"]
    assert [one.left_out for one in written.faults] == [len(broken)]


def test_a_cmd_id_counts_once_and_one_that_is_missing_is_named_by_its_place() -> None:
    lines = [LIST, '{"cmd_id": "c3", "type": "notes.list"}', LIST, READ, READ, ADD.replace('"a"', '"2"')]
    written = reading(section(*lines))
    assert [one.cmd_id for one in written.commands] == ["c1", "c3", "c4", "2"]
    assert [(one.cmd_id, one.name) for one in written.faults] == [("2", "notes.read"), ("2", "diary.add")]
    assert "stands twice" in written.faults[0].what
    later = reading(section(LIST, '{"cmd_id": "c1", "type": "notes.list"}'))
    assert [one.cmd_id for one in later.commands] == ["c2", "c1"]
    refused = reading(section('{"cmd_id": "x", "type": "nothing"}', '{"cmd_id": "x", "type": "notes.list"}'))
    assert refused.commands == [], "even if the first one cannot be carried out"
    assert len(refused.faults) == 2


@pytest.mark.parametrize("cmd_id", ['"a b"', '"a/b"', '""', "true", "[]", f'"{"a" * 41}"', '"\\u0000"'])
def test_a_cmd_id_that_cannot_be_told_apart_is_a_fault(cmd_id: str) -> None:
    assert "A cmd_id is" in fault(f'{{"cmd_id": {cmd_id}, "type": "notes.list"}}').what


@pytest.mark.parametrize(
    ("alias", "args", "name"),
    [
        ("shell", {"name": "date"}, "process.start"),
        ("diary_entry", {"text": "Hm."}, "diary.add"),
        ("graph_add", {"name": "sea", "description": "much water"}, "concepts.add"),
        ("graph_add", {"from": 1, "to": 2, "relation": "is"}, "links.add"),
        ("send_message", {"to": "D1", "text": "Hi"}, "message.send"),
    ],
)
def test_the_names_of_the_seed_mean_commands(alias: str, args: dict[str, Any], name: str) -> None:
    assert names(section(json.dumps({"type": alias, "args": args}))) == [name]


def test_arguments_arrive_as_their_command_takes_them() -> None:
    lines = [
        '{"type": "links.add", "args": {"from": 1, "to": "2", "relation": " is "}}',
        '{"type": "cycle.idle", "args": {"notes": {"priority": "urgent"}}, "description": null}',
        '{"type": "notes.list", "args": null, "cmd_id": null}',
    ]
    link, idle, listed = reading(section(*lines)).commands
    assert link.args == Link.model_validate({"from": 1, "to": 2, "relation": "is"})
    assert idle.args == Idle(notes=Which(priority="urgent"))
    assert (listed.args, listed.given, listed.cmd_id) == (None, {}, "c3")


def test_halves_of_characters_and_control_characters_do_no_harm() -> None:
    line = '{"type": "diary.add", "args": {"text": "a\\ud800b\\u0000c", "tags": ["\\udfff"]}}'
    written = reading(f"\ud800 think\x00\n{section(line)}\n\udfff\x1b")
    assert written.commands[0].args == Entry(text="a\ufffdb\ufffdc", tags=["\ufffd"])
    written.thought.encode()
    strange = reading(section('{"type": "\ud800", "\\ud800": 1}', LIST, "\ud800\x00\x1b[31m"))
    assert [one.line().isprintable() and one.line().encode() != b"" for one in strange.faults] == [True] * 2


def test_an_answer_holds_twenty_commands_and_further_ones_are_told() -> None:
    written = reading(section(*[LIST] * (MOST_COMMANDS + 3)))
    assert len(written.commands) == MOST_COMMANDS
    assert ["20 commands at most" in one.what for one in written.faults] == [True] * 3
    many = reading(section(*[LIST] * 500))
    assert len(many.faults) == MOST_ITEMS - MOST_COMMANDS + 1
    assert many.faults[-1].left_out > 400 * len(LIST)


def test_what_is_longer_than_is_read_is_cut_with_a_visible_fault() -> None:
    written = reading(f"{section(ADD)}\n{'word ' * (LONGEST // 5)}\n{section(READ)}")
    assert [one.name for one in written.commands] == ["diary.add"]
    assert [(one.position, one.left_out > 0) for one in written.faults] == [(LONGEST, True)]


def test_a_string_is_told_apart_from_what_stands_around_it() -> None:
    text = '# End of commands } ] { "type": "notes.list" ``` \\" # Commands:'
    [one] = reading(section(json.dumps({"type": "diary.add", "args": {"text": text}}))).commands
    assert one.args == Entry(text=text)
