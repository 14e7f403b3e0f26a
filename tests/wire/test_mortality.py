"""Real daemons that die of one message: it is given up, alone. `make soak` tells the other scenarios, too."""

from __future__ import annotations

from tests.soak import SOAK
from tests.wire.mortality import POISON, talk, told

FASTER = 10.0
"""Seconds of the scenario in one of ours."""


@SOAK
def test_a_poison_is_given_up_and_everybody_else_is_answered() -> None:
    outcome = told(talk(2, 1), speed=FASTER)
    print(outcome)
    assert outcome.problem is None
    assert outcome.given_up == [f"{POISON} 0"]
