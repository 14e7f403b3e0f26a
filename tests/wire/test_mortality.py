"""Daemons that one message kills: it alone is given up."""

from __future__ import annotations

from tests.soak import SOAK
from tests.wire.mortality import POISON, run_mortality, talk

FASTER = 10.0
"""Scenario seconds per real second."""


@SOAK
def test_a_poison_is_given_up_and_everybody_else_is_answered() -> None:
    report = run_mortality(talk(2, 1), speed=FASTER)
    print(report)
    assert report.violation is None
    assert report.given_up == [f"{POISON} 0"]
