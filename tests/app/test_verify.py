"""`verify`: each rule, by a journal that breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.app.journal_commands import SoulRules, verify_journal
from daemon.engine.journal.reader import open_reader
from daemon.engine.journal.verify import RULES, VerifyResult
from daemon.kinds import SOUL_KINDS
from tests.app.damages import DAMAGES, damage
from tests.app.forgeries import FORGERIES, Forge
from tests.app.forgery import opened


def verdict(path: Path) -> VerifyResult:
    with open_reader(path, SOUL_KINDS) as journal:
        return verify_journal(journal)


def test_a_journal_of_the_real_daemon_is_clean(talked: Path) -> None:
    found = verdict(talked)
    assert (found.violations, found.pending) == ([], [])
    with opened(talked) as copy:
        kinds = {kind for (kind,) in copy.db.execute("select kind from entry")}
    assert kinds >= {
        "waiting",
        "timer",
        "outage",
        "model-call",
        "spoken",
        "speech-started",
        "mood",
        "claim",
        "transition",
    }
    assert str(found) == f"{found.entries} entries, clean; pending: nothing"


def test_work_that_is_pending_is_counted_and_no_fault(half: Path) -> None:
    found = verdict(half)
    assert found.violations == []
    assert {one.kind: one.count for one in found.pending} == {"message": 2, "turn-began": 1}
    assert "2 message to be answered, 1 turn-began half" in str(found)


def test_every_rule_is_broken_here() -> None:
    assert {rule.name for rule in (*RULES, *SoulRules().all)} <= FORGERIES.keys()


@pytest.mark.parametrize(
    ("rule", "forge"),
    [
        pytest.param(rule, one, id=f"{rule}-{one.__name__}")
        for rule, some in FORGERIES.items()
        for one in some
    ],
)
def test_what_breaks_a_rule_is_named_with_its_seq(journal: Path, rule: str, forge: Forge) -> None:
    with opened(journal) as copy:
        seq = forge(copy)
    assert (seq, rule) in {(one.seq, one.rule) for one in verdict(journal).violations}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_cell_is_named_with_its_seq(journal: Path, name: str) -> None:
    with opened(journal) as copy:
        seq = damage(copy, name)
    assert (seq, "shape") in {(one.seq, one.rule) for one in verdict(journal).violations}
