"""The tables of mutants are about the project as it is; whether each is killed, `make soak` shows."""

from __future__ import annotations

import builtins
import re

import pytest

from rehearsal.faults import MODEL_FAULTS, SLACK_FAULTS
from tests.core.defences import DEFENCES
from tests.core.mutant import Mutant
from tests.core.mutants import ALL, ROOT, judged
from tests.core.scenarios import SCENARIOS


def test_against_each_fault_stands_something() -> None:
    named = [mutant.rule.partition(":")[0] for mutant in DEFENCES]
    assert list(dict.fromkeys(named)) == [fault.name for fault in (*SLACK_FAULTS, *MODEL_FAULTS)]


def named(text: str) -> set[str]:
    """The words of a piece of code."""
    return {*re.findall(r"\b[A-Za-z_]\w*", text)}


NAMES = {*dir(builtins), *dir(object), "__dict__"}
for folder in ("daemon", "rehearsal"):
    for path in (ROOT / folder).rglob("*.py"):
        NAMES |= named(path.read_text())
"""Python's own words and all of the project's: a mutant that names anything else would die of that."""


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.rule)
def test_what_a_mutant_takes_out_and_what_shows_it_are_there(mutant: Mutant) -> None:
    patched = mutant.taken_from((ROOT / mutant.file).read_text())
    compile(patched, mutant.file, "exec")
    unknown = named(mutant.new) - named(mutant.old) - NAMES
    assert not unknown, "it would die of a name that is not there"
    path, found, name = mutant.shown_by.partition("::")
    if found:
        assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()
    else:
        assert path.partition("/")[0] in SCENARIOS


@pytest.mark.parametrize(
    ("status", "said", "fault"),
    [
        (1, "E       AssertionError: assert 1 == 2", ""),
        (
            1,
            "turn/kills: a life ended with exit 3\nAttributeError: 'NoneType' object has no attribute 'seq'",
            "",
        ),
        (0, "1 passed", "survives"),
        (1, "E   AttributeError: 'Budget' object has no attribute '_fits'", "crashed"),
        (1, "turn/kills: fails\nNameError: name 'x' is not defined", "crashed"),
        (1, "SyntaxError: f-string: unmatched '('", "crashed"),
        (1, "_____ ERROR at setup of test_that_it_holds _____\nE   TimeoutError", "crashed"),
        (1, "_____ ERROR at teardown of test_that_it_holds _____\nE   AssertionError", ""),
        (2, "ERROR collecting tests", "crashed"),
        (5, "no tests ran", "crashed"),
        (-9, "", "crashed"),
    ],
)
def test_a_mutant_is_caught_by_a_check_that_fails_and_by_nothing_else(
    status: int, said: str, fault: str
) -> None:
    assert judged(status, said) == fault


def test_a_patch_that_does_not_fit_is_no_mutant() -> None:
    with pytest.raises(ValueError, match="holds its text 0 times"):
        ALL[0].taken_from("")
