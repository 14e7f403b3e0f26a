"""Places and checks of all mutants; `make soak` tries them."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.core.harness import CASES
from tests.core.scenarios import SCENARIOS
from tests.mutants.mutant import Mutant
from tests.mutants.places import condition
from tests.mutants.running import judged
from tests.mutants.tables import ALL
from tests.source import ROOT


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.rule)
def test_a_mutant_changes_its_function_and_names_its_check(mutant: Mutant) -> None:
    before, after = (ROOT / mutant.file).read_text(), mutant.applied()
    assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(before))
    path, found, name = mutant.check.partition("::")
    if found:
        assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()
    else:
        scenario, _, faults = path.partition("/")
        assert scenario in SCENARIOS
        assert faults in ("", *CASES)


def test_each_rule_has_a_name_of_its_own() -> None:
    assert [rule for rule, count in Counter(one.rule for one in ALL).items() if count > 1] == []


def test_a_place_that_is_gone_is_named_with_its_rule_and_its_file() -> None:
    gone = Mutant("a rule", judged, condition(9).never(), "dm")
    with pytest.raises(ValueError, match=r"a rule: tests/mutants/running\.py: 1 such places, not 9"):
        gone.applied()


@pytest.mark.parametrize(
    ("status", "output", "fault"),
    [
        (1, "E       AssertionError: assert 1 == 2", ""),
        (
            1,
            "turn/kills: a run ended with exit 3\nAttributeError: 'NoneType' object has no attribute 'seq'",
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
    status: int, output: str, fault: str
) -> None:
    assert judged(status, output) == fault
