"""Daemon over the wire under kills and stops: nothing lost, doubled or paid twice.

Selected boundaries; `make soak` runs all.
"""

from __future__ import annotations

import pytest

from tests.cases import Case, problems
from tests.soak import SOAK, but
from tests.wire.harness import boundaries, cases, covering, kills, outcome
from tests.wire.mark import Boundary
from tests.wire.scenarios import SCENARIOS
from tests.wire.storm import weathered

EACH = 91
"""Interval of cases; odd, to alternate before and after commits."""
WHERE = [
    Case(scenario="dm", way="kill", at="before caught-up#1"),
    Case(scenario="dm", way="kill", at="after speech-started#1"),
    Case(scenario="dm", way="pause", at="before spoken#1"),
    Case(scenario="burst", way="pause", at="after speech-started#1"),
    Case(scenario="long", way="pause", at="after chat.startStream#2"),
    Case(scenario="posts", way="pause", at="after chat.postMessage#1"),
    Case(scenario="steps", way="kill", at="after /deed#1"),
    Case(scenario="outage", way="kill", at="before outage-ended#1"),
    Case(scenario="account", way="kill", at="after outage#1"),
    Case(scenario="called-in", way="kill", at="before overheard#1"),
    Case(scenario="streamed", way="kill", at="after may-grow#1"),
    Case(scenario="missed", way="kill", at="before message#2"),
    Case(scenario="decides", way="kill", at="before model-call#5"),
    Case(scenario="interrupted", way="kill", at="before answered#1"),
    Case(scenario="approved", way="kill", at="before observation#3"),
    Case(scenario="stopped", way="kill", at="after stop#1"),
    Case(scenario="stopped-short", way="pause", at="before withdrawn#1"),
    Case(scenario="escalated", way="kill", at="after ism#3"),
]
"""Worst boundaries: unrecorded effects, and commits that others wait for."""
TOLD = {"steps", "decides", "approved", "stopped", "missed"}
"""Scenarios that show more than the others."""
SOAKED = [case for case in WHERE if case.scenario not in TOLD and case not in WHERE[1:3]]


@pytest.mark.parametrize("case", but(WHERE, SOAKED), ids=lambda case: f"{case.scenario} {case.way} {case.at}")
def test_where_it_hurts_each_scenario_goes_on(case: Case[Boundary]) -> None:
    assert outcome(case) is None


def test_each_scenario_is_told_in_one_way_at_least() -> None:
    assert {case.scenario for case in WHERE} == {*SCENARIOS}


@SOAK
def test_any_boundary_of_a_conversation_may_be_the_last() -> None:
    some = cases("dm")[::EACH]
    print(f"dm: {len(boundaries('dm'))} boundaries, {len(some)} cases")
    assert problems(some, outcome) == {}


@SOAK
def test_any_boundary_of_a_run_may_be_the_last() -> None:
    some = kills("decides")[::EACH]
    print(f"decides: {len(boundaries('decides'))} boundaries, {len(some)} cases")
    assert problems(some, outcome) == {}


@SOAK
@pytest.mark.parametrize(("number", "name"), list(enumerate(sorted(SCENARIOS.keys() - {"dm", "decides"}))))
def test_each_step_of_each_scenario_may_be_the_last(number: int, name: str) -> None:
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
