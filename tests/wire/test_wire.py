"""Daemon over the wire under kills and stops: nothing lost, doubled or paid twice.

Selected kill points; `make soak` runs all.
"""

from __future__ import annotations

import pytest

from tests.crashes.cases import CrashCase
from tests.soak import SOAK, but
from tests.wire.harness import WIRE
from tests.wire.kill_points import KillPointName
from tests.wire.scenarios import SCENARIOS
from tests.wire.storm import run_storm

EACH = 91
"""Interval of cases; odd, to alternate before and after commits."""
WHERE = [
    CrashCase(scenario="dm", fault="kill", at="before caught-up#1"),
    CrashCase(scenario="dm", fault="kill", at="after speech-started#1"),
    CrashCase(scenario="dm", fault="pause", at="before spoken#1"),
    CrashCase(scenario="burst", fault="pause", at="after speech-started#1"),
    CrashCase(scenario="long", fault="pause", at="after chat.startStream#2"),
    CrashCase(scenario="posts", fault="pause", at="after chat.postMessage#1"),
    CrashCase(scenario="steps", fault="kill", at="after /deed#1"),
    CrashCase(scenario="outage", fault="kill", at="before outage-ended#1"),
    CrashCase(scenario="account", fault="kill", at="after outage#1"),
    CrashCase(scenario="called-in", fault="kill", at="before overheard#1"),
    CrashCase(scenario="streamed", fault="kill", at="after may-grow#1"),
    CrashCase(scenario="missed", fault="kill", at="before message#2"),
    CrashCase(scenario="decides", fault="kill", at="before model-call#5"),
    CrashCase(scenario="interrupted", fault="kill", at="before answered#1"),
    CrashCase(scenario="approved", fault="kill", at="before observation#3"),
    CrashCase(scenario="stopped", fault="kill", at="after stop#1"),
    CrashCase(scenario="stopped-short", fault="pause", at="before withdrawn#1"),
    CrashCase(scenario="escalated", fault="kill", at="after ism#3"),
]
"""Worst kill points: unrecorded effects, and commits that others wait for."""
TOLD = {"steps", "decides", "approved", "stopped", "missed"}
"""Scenarios that show more than the others."""
SOAKED = [case for case in WHERE if case.scenario not in TOLD and case not in WHERE[1:3]]


@pytest.mark.parametrize(
    "case", but(WHERE, SOAKED), ids=lambda case: f"{case.scenario} {case.fault} {case.at}"
)
def test_where_it_hurts_each_scenario_goes_on(case: CrashCase[KillPointName]) -> None:
    assert WIRE.violation(case) is None


def test_each_scenario_is_told_in_one_way_at_least() -> None:
    assert {case.scenario for case in WHERE} == {*SCENARIOS}


@SOAK
def test_any_kill_point_of_a_conversation_may_be_the_last() -> None:
    some = WIRE.cases("dm")[::EACH]
    print(f"dm: {len(WIRE.kill_points('dm'))} kill points, {len(some)} cases")
    assert WIRE.violations(some) == {}


@SOAK
def test_any_kill_point_of_an_ism_run_may_be_the_last() -> None:
    some = WIRE.kills("decides")[::EACH]
    print(f"decides: {len(WIRE.kill_points('decides'))} kill points, {len(some)} cases")
    assert WIRE.violations(some) == {}


@SOAK
@pytest.mark.parametrize(("number", "name"), list(enumerate(sorted(SCENARIOS.keys() - {"dm", "decides"}))))
def test_each_step_of_each_scenario_may_be_the_last(number: int, name: str) -> None:
    covered = WIRE.covering_cases(name)
    some = covered[7 * number % min(EACH, len(covered)) :: EACH]
    print(f"{name}: {len(WIRE.kill_points(name))} kill points, {len(some)} cases")
    assert WIRE.violations(some) == {}


@SOAK
def test_the_scenarios_go_through_all_that_a_turn_can_do() -> None:
    reached = {_kind(point) for name in SCENARIOS for _, point in WIRE.kill_points(name)}
    assert reached >= {
        *("thread", "message", "turn-began", "claim", "transition", "model-call", "turn-ended"),
        *("speech", "speech-started", "spoken", "action", "observation", "waiting"),
        *("apps.connections.open", "/v1/messages", "/deed", "agents.sessions.setStatus"),
        *("chat.startStream", "chat.stopStream", "chat.postMessage", "chat.update"),
        *("ism", "ism-ended", "received", "asked", "answered", "limit", "remembered", "chat.postEphemeral"),
    }


def test_a_storm_loses_and_doubles_nothing() -> None:
    report = run_storm(seed=2, events=60)  # `make soak` has longer ones
    print(report)
    assert report.violation is None
    assert report.kills


def _kind(point: KillPointName) -> str:
    return point.partition(" ")[2].partition("#")[0]
