"""Daemons that one message kills: it alone is given up."""

from __future__ import annotations

from tests.soak import SOAK
from tests.wire.mortality import POISON, talk, told

FASTER = 10.0
"""Scenario seconds per real second."""


@SOAK
def test_a_poison_is_given_up_and_everybody_else_is_answered() -> None:
    outcome = told(talk(2, 1), speed=FASTER)
    print(outcome)
    assert outcome.problem is None
    assert outcome.given_up == [f"{POISON} 0"]
