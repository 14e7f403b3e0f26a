"""The switches of faults, and invalid requests to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from rehearsal.claude.understudy import ClaudeUnderstudy
from rehearsal.faults import MODEL_FAULTS, SLACK_FAULTS
from rehearsal.local_slack import LocalSlack
from rehearsal.switchboard import FaultSwitchboard, UnknownFault
from tests.clock import FakeClock
from tests.rehearsal.place import Place

FAULTS = "/rehearsal/faults"


async def fault(place: Place, name: str) -> dict[str, Any]:
    shown: dict[str, Any] = next(one for one in (await place.get(FAULTS))["faults"] if one["name"] == name)
    return shown


async def test_all_are_off_until_they_are_switched_on(place: Place) -> None:
    shown = (await place.get(FAULTS))["faults"]
    assert [one["name"] for one in shown] == [one.name for one in SLACK_FAULTS]
    assert not any(one["on"] for one in shown)
    assert all(one["line"].endswith(".") for one in shown)


async def test_one_is_switched_on_and_off_with_what_it_is_told(place: Place) -> None:
    await place.send(FAULTS, name="rate-limit", method="chat.update", seconds=7)
    shown = await fault(place, "rate-limit")
    assert shown["on"]
    values = {param["name"]: param["value"] for param in shown["params"]}
    assert (values["method"], values["seconds"], values["chance"]) == ("chat.update", 7, 1)
    await place.send(FAULTS, name="rate-limit", on=False)
    shown = await fault(place, "rate-limit")
    assert not shown["on"]
    assert {param["name"]: param["value"] for param in shown["params"]}["seconds"] == 3


async def test_all_can_be_switched_off_at_once(place: Place) -> None:
    for name in ("delay", "duplicate"):
        await place.send(FAULTS, name=name)
    answer = await place.send(FAULTS, on=False)
    assert not any(one["on"] for one in answer["faults"])


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"name": "rain"}, "no fault 'rain'"),
        ({}, "no fault 'None'"),
        ({"name": ["delay"]}, "no fault"),
        ({"name": "delay", "on": "yes"}, "on is true or false"),
        ({"name": "delay", "minutes": 5}, "cannot be told 'minutes'"),
        ({"name": "delay", "self": 5}, "cannot be told 'self'"),
        ({"name": "delay", "seconds": -1}, "seconds is a number from 0"),
        ({"name": "delay", "seconds": "5"}, "seconds is a number from 0"),
        ({"name": "delay", "seconds": True}, "seconds is a number from 0"),
        ({"name": "delay", "chance": 2}, "chance is a number from 0 to 1"),
        ({"name": "rate-limit", "method": ""}, "method is a text"),
        ({"name": "refresh", "reason": "boredom"}, "reason is refresh_requested or warning"),
        ({"name": "drop", "on": False}, "drop happens once"),
    ],
)
async def test_nonsense_is_refused_with_the_reason(place: Place, asked: dict[str, Any], why: str) -> None:
    async with place.session.post(place.url + FAULTS, json=asked) as response:
        assert response.status == 400
        answer = await response.json()
    assert not answer["ok"]
    assert why in answer["error"]
    assert not any(one["on"] for one in (await place.get(FAULTS))["faults"])


@pytest.mark.parametrize("body", ["", "[]", "nonsense", '{"name": "delay", "seconds": NaN}'])
async def test_what_is_no_json_object_is_refused(place: Place, body: str) -> None:
    async with place.session.post(place.url + FAULTS, data=body) as response:
        assert response.status == 400


async def test_what_is_rehearsed_together_is_switched_together(tmp_path: Path) -> None:
    app, model = web.Application(), ClaudeUnderstudy(FakeClock())
    async with LocalSlack(tmp_path / "rehearsal.db", FakeClock()) as world:
        world.mount(app)
        model.mount(app)
        async with TestClient(TestServer(app)) as http:
            await http.post(FAULTS, json={"name": "overloaded"})
            await http.post(FAULTS, json={"name": "delay"})
            shown = (await (await http.get(FAULTS)).json())["faults"]
            assert [one["name"] for one in shown] == [one.name for one in (*SLACK_FAULTS, *MODEL_FAULTS)]
            assert [one["name"] for one in shown if one["on"]] == ["delay", "overloaded"]
            await http.post(FAULTS, json={"on": False})
            assert world.faults.on("delay") is model.faults.on("overloaded") is None


def test_a_chance_is_the_same_for_the_same_seed() -> None:
    def strikes(seed: int) -> list[bool]:
        board = FaultSwitchboard("Slack", SLACK_FAULTS)
        board.switch("duplicate", chance=0.5, seed=seed)
        return [board.strikes("duplicate") is not None for _ in range(40)]

    assert strikes(1) == strikes(1) != strikes(2)
    assert {True, False} == set(strikes(1))


def test_one_may_strike_a_few_times_only() -> None:
    board = FaultSwitchboard("Slack", SLACK_FAULTS)
    board.switch("answer-lost", times=2)
    assert [board.strikes("answer-lost", "chat.update") is not None for _ in range(4)] == [
        True,
        True,
        False,
        False,
    ]
    [shown] = [one for one in board.json() if one["name"] == "answer-lost"]
    assert (shown["on"], shown["strikes"]) == (True, 2)


def test_one_strikes_only_whom_it_is_meant_for() -> None:
    board = FaultSwitchboard("Slack", SLACK_FAULTS)
    board.switch("rate-limit", method="chat.*Stream")
    hit = [board.strikes("rate-limit", name) is not None for name in ("chat.startStream", "chat.postMessage")]
    assert hit == [True, False]


def test_nobody_can_switch_what_there_is_not() -> None:
    with pytest.raises(UnknownFault):
        FaultSwitchboard("Slack", SLACK_FAULTS).switch("overloaded")
