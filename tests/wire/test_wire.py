"""The daemon over the real wire, killed and stopped: nothing lost, nothing doubled, nothing paid twice.

A share of the commits and effects of each scenario, in one way; `make soak` has every boundary in every way.
"""

from __future__ import annotations

import pytest

from tests.cases import problems
from tests.soak import SOAK
from tests.wire.harness import boundaries, cases, covering, kills, outcome
from tests.wire.mark import Boundary
from tests.wire.scenarios import SCENARIOS
from tests.wire.storm import weathered

EACH = 91
"""Of the cases each so-manieth one: odd, so that kills before a commit and after one take turns."""


def test_any_boundary_of_a_conversation_may_be_the_last() -> None:
    """Killed before and after commits and effects of a streamed turn; stopped while another takes over."""
    some = cases("dm")[::EACH]
    print(f"dm: {len(boundaries('dm'))} boundaries, {len(some)} cases")
    assert problems(some, outcome) == {}


def test_any_boundary_of_a_run_may_be_the_last() -> None:
    """Three rounds, two actions in one choice: no recorded call is paid again, and people read one answer."""
    some = kills("decides")[::EACH]
    print(f"decides: {len(boundaries('decides'))} boundaries, {len(some)} cases")
    assert problems(some, outcome) == {}


@pytest.mark.parametrize(("number", "name"), list(enumerate(sorted(SCENARIOS.keys() - {"dm", "decides"}))))
def test_each_step_of_each_scenario_may_be_the_last(number: int, name: str) -> None:
    """In each scenario somewhere else."""
    covered = covering(name)
    some = covered[7 * number % min(EACH, len(covered)) :: EACH]
    print(f"{name}: {len(boundaries(name))} boundaries, {len(some)} cases")
    assert problems(some, outcome) == {}


@SOAK
def test_the_scenarios_go_through_all_that_a_turn_can_do() -> None:
    passed = {_kind(boundary) for name in SCENARIOS for boundary in boundaries(name)}
    assert passed >= {
        *("thread", "message", "turn-began", "claim", "transition", "model-call", "turn-ended"),
        *("speech", "speech-started", "spoken", "action", "observation", "waiting"),
        *("apps.connections.open", "/v1/messages", "/deed", "agents.sessions.setStatus"),
        *("chat.startStream", "chat.stopStream", "chat.postMessage", "chat.update"),
        *("ism", "ism-ended", "received", "asked", "answered", "limit", "remembered", "chat.postEphemeral"),
    }


def test_a_storm_loses_and_doubles_nothing() -> None:
    outcome = weathered(seed=2, events=60)  # `make soak` has longer ones
    print(outcome)
    assert outcome.problem is None
    assert outcome.kills


def _kind(boundary: Boundary) -> str:
    return boundary.partition(" ")[2].partition("#")[0]
