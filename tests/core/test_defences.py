"""The tables of mutants are about the project as it is; whether each is killed, `make soak` shows."""

from __future__ import annotations

import pytest

from daemon.rehearsal.faults import MODEL_FAULTS, SLACK_FAULTS
from tests.core.defences import DEFENCES
from tests.core.mutant import Mutant
from tests.core.mutants import ALL, ROOT
from tests.core.scenarios import SCENARIOS


def test_against_each_fault_stands_something() -> None:
    named = [mutant.rule.partition(":")[0] for mutant in DEFENCES]
    assert list(dict.fromkeys(named)) == [fault.name for fault in (*SLACK_FAULTS, *MODEL_FAULTS)]


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.rule)
def test_what_a_mutant_takes_out_and_what_shows_it_are_there(mutant: Mutant) -> None:
    assert (ROOT / mutant.file).read_text().count(mutant.old) == 1
    path, found, name = mutant.shown_by.partition("::")
    if found:
        assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()
    else:
        assert path.partition("/")[0] in SCENARIOS
