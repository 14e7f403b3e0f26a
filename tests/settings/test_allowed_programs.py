"""Slot values of the owner's programs: one argument each, neither option nor code."""

from __future__ import annotations

import shlex

import pytest

from daemon.settings.limits import LONGEST_SLOT_VALUE, AllowedProgram


def filled(argv: str, **values: str) -> tuple[str, ...]:
    return AllowedProgram(argv=tuple(argv.split())).fill(values)


def test_a_value_stands_where_its_slot_stands() -> None:
    assert filled("p {a} --to {b} {a} {}", a="1 2", b="$(b)") == ("p", "1 2", "--to", "$(b)", "1 2", "{}")


def test_a_value_that_holds_a_slot_is_not_filled_again() -> None:
    assert filled("p {a} {b}", a="{b}", b="{a}") == ("p", "{b}", "{a}")


@pytest.mark.parametrize(
    ("argv", "values", "said"),
    [
        ("p {a}", {"a": "-rf"}, "a may not begin with -"),
        ("p --to {a}", {"a": "--at"}, "a may not begin with -"),
        ("p {a} -- x", {"a": "-"}, "a may not begin with -"),
        ("p {a}", {"a": "x\0y"}, "holds a character"),
        ("p {a}", {"a": "\ud800"}, "holds a character"),
        ("p {a}", {"a": "x" * (LONGEST_SLOT_VALUE + 1)}, "a is longer than 2,000"),
        ("p {a}", {"a": ""}, "a needs a value; slots: a"),
        ("p {a}", {"a": "1", "b": "2"}, "there is no slot 'b'; slots: a"),
    ],
)
def test_a_value_that_might_do_something_else_is_refused(
    argv: str, values: dict[str, str], said: str
) -> None:
    with pytest.raises(ValueError, match=said.replace("'", ".")):
        filled(argv, **values)


def test_a_value_may_begin_with_a_hyphen_only_after_the_end_of_options() -> None:
    assert filled("p -- {a}", a="-f") == ("p", "--", "-f")
    with pytest.raises(ValueError, match="b may not begin with -"):  # no end of options precedes it
        filled("p {a} {b}", a="x", b="-f")


RUN = [
    'sh -c "ls {a}"',
    "sh -c {a}",
    "bash -c -- {a}",
    "bash -ec {a}",
    "/bin/bash -o pipefail -c {a}",
    "bash -o pipefail {a}",
    "bash {a}",
    "bash +x {a}",
    "zsh -lc {a}",
    "python3 -c {a}",
    "python3.12 -W ignore {a}",
    "python3 -m {a}",
    "python3 {a} script.py",
    "perl -e {a}",
    "perl -lane {a} file",
    "perl -e 1 -e {a}",
    "perl -I lib {a}",
    "node -e {a}",
    "node --eval {a}",
    "node --require {a} app.js",
    "ruby -e {a}",
    "php -r {a}",
    "awk {a} file",
    "awk -f {a} file",
    "sed -n {a} file",
    "sed -e p -e {a}",
    "env {a}",
    "env LANG=C {a}",
    "/usr/bin/env python3 -c {a}",
    "env -S {a}",
    "xargs {a}",
    "xargs -n 1 sh -c {a}",
    "ssh host {a}",
    "ssh host ls {a}",
    "nice -n 5 {a}",
    "timeout 5 bash -c {a}",
    "sudo {a}",
    "busybox sh -c {a}",
    "make {a}",
    "sqlite3 file.db {a}",
    "find . -exec {a} ;",
    "find . -exec sh -c {a} ;",
    "find . -exec env {a} ;",
    "wrapper bash -c {a}",
]
TAKEN = [
    "df -h {a}",
    "grep -e {a} file",
    "grep node {a}",
    "find {a} -name x",
    "find . -name {a} -exec ls -l {} ;",
    "find . -exec grep {a} {} ;",
    """sh -c 'ls "$1"' sh {a}""",
    """bash -euo pipefail -c 'ls "$1"' sh {a}""",
    """bash -c -- 'ls "$1"' sh {a}""",
    "bash script.sh {a}",
    "bash script.sh -e {a}",
    "python3 script.py --to {a}",
    "python3 -u -W ignore script.py {a}",
    "python3 -m json.tool {a}",
    "node --max-old-space-size=99 app.js {a}",
    "perl -ne print {a}",
    "awk -F , 1 {a}",
    "sed -n 1p {a}",
    "sed -f script.sed {a}",
]


@pytest.mark.parametrize("argv", RUN)
def test_a_slot_that_would_be_code_or_a_command_is_refused(argv: str) -> None:
    recipe = AllowedProgram(argv=tuple(shlex.split(argv)))
    assert recipe.runs_slot or recipe.has_partial_slot


@pytest.mark.parametrize("argv", TAKEN)
def test_a_slot_that_is_one_whole_argument_is_taken(argv: str) -> None:
    recipe = AllowedProgram(argv=tuple(shlex.split(argv)))
    assert (recipe.runs_slot, recipe.has_partial_slot) == (False, False)


@pytest.mark.parametrize("argv", ["ls --color={a}", "ls {a}/x", "ls x{a}", "ls {a}{a}"])
def test_a_slot_within_an_argument_is_refused(argv: str) -> None:
    assert AllowedProgram(argv=tuple(argv.split())).has_partial_slot
