"""Absent or slow model, reported to owners."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from daemon.turn.owner_alerts import CHECK_INTERVAL, SECONDS_TO_ALERT
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.soak import SOAK, shared
from tests.stories.mending import FAULTS, HAIKU, OWNERS, SONNET, meet, say, unasked
from tests.stories.outage import AWAY
from tests.stories.stage import ALICE, BOB, CAROL, GENERAL, ME, Stage, reply
from tests.stories.test_hearing import metrics

LOCAL = "qwen3:8b"
"""Model without a price."""
AWAY_SINCE = 'soul_model_away_since_timestamp_seconds{failure="%s",model="%s"}'
SLOW_SINCE = 'soul_model_slow_since_timestamp_seconds{model="%s"}'


async def details(stage: Stage) -> dict[str, Any]:
    async with stage.session.get(f"{stage.soul.url}/console/health") as answer:
        return {**await answer.json()}


async def header(stage: Stage) -> dict[str, Any]:
    async with stage.session.get(f"{stage.soul.url}/console/state") as answer:
        return {**await answer.json()}


async def reports(stage: Stage) -> list[dict[str, Any]]:
    status, said = await stage.health()
    assert (status, said["restart"]) == (200, False)
    return [*said["reports"]]


def failed(caplog: pytest.LogCaptureFixture, times: int) -> bool:
    return caplog.text.count("Claude did not answer") >= times


async def passing(stage: Stage, seconds: float, step: float = 1.0) -> None:
    end = stage.clock.now() + seconds
    await stage.passing(step, lambda: stage.clock.now() >= end)


async def overhears(stage: Stage) -> None:
    await stage.post("carol", GENERAL, "Lunch?")
    await stage.until(lambda: stage.soul.slack.hearing.inbound_age == 0)


async def mended(stage: Stage) -> None:
    stage.model.faults.all_off()
    await stage.passing(5.0, lambda: not stage.pending("waiting", "outage", "input", "turn-began"))


async def first_failure(stage: Stage, caplog: pytest.LogCaptureFixture) -> float:
    caplog.clear()
    await stage.post("bob", BOB, "Wind the clock.")
    await stage.until(partial(failed, caplog, 1))
    assert not stage.pending("outage"), "its retries go on"
    return stage.clock.now()


async def test_a_server_that_fails_is_reported_from_the_first_failed_try(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await meet(stage)
    stage.model.faults.switch("failing")
    since = await first_failure(stage, caplog)
    [report] = await reports(stage)
    assert (report["models"], report["failure"], report["since"]) == ([SONNET], "server-error", since)
    assert report["what"] == f"No answer from {SONNET}: the server fails (HTTP 502)."
    assert (report["waiting"], report["slow"]) == (1, False)
    assert since <= report["next_try"] <= since + 2
    status, said = await stage.health()
    assert (status, said["ok"], said["wrong"]) == (200, False, [report["sentence"]])
    shown = await header(stage)
    assert (shown["wrong"], shown["reports"]) == (said["wrong"], said["reports"])
    told = await metrics(stage)
    assert told[AWAY_SINCE % ("server-error", SONNET)] == since
    assert told[f'soul_model_people_waiting{{model="{SONNET}"}}'] == 1
    next_try = told[f'soul_model_next_try_timestamp_seconds{{model="{SONNET}"}}']
    assert next_try == pytest.approx(report["next_try"])


async def test_a_report_says_in_a_sentence_since_when_why_who_waits_and_until_when(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await meet(stage)
    stage.model.faults.switch("failing")
    since = await first_failure(stage, caplog)
    await passing(stage, 10)
    third = await stage.post("carol", GENERAL, f"{ME} Name the star.")
    await passing(stage, 10)
    await stage.post("alice", GENERAL, f"{ME} And the moon.", third)
    await passing(stage, 10)
    due = min(outage.event.due for outage in stage.pending("outage"))
    [report] = await reports(stage)
    assert (report["since"], report["waiting"]) == (since, 3)
    assert stage.clock.now() <= report["next_try"] <= due, (
        "a call on its way may try before the turns that wait"
    )
    assert report["sentence"].startswith(f"No answer from {SONNET}: the server fails (HTTP 502). Since 14:13")
    assert "UTC. 3 people wait for an answer. The next try comes at 14:14:" in report["sentence"]


async def test_a_report_ends_when_a_call_succeeds(stage: Stage) -> None:
    await meet(stage)
    stage.model.faults.switch("failing")
    await stage.post("bob", BOB, "Wind the clock.")
    await passing(stage, 400, step=10)
    await overhears(stage)
    assert len(await reports(stage)) == 1
    stage.model.faults.all_off()
    await stage.post("carol", CAROL, "Are you there?")
    await passing(stage, 60, step=10)
    await stage.settled()
    await overhears(stage)
    _, said = await stage.health()
    assert (said["ok"], said["wrong"], said["reports"]) == (True, [], [])
    assert (await header(stage))["wrong"] == []
    assert not [name for name in await metrics(stage) if "model_away" in name or "people_waiting" in name]


WAYS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "none": ("failing", {"answer": "none"}, "unreachable", "(the connection breaks)"),
    "503": ("failing", {"answer": "503"}, "server-error", "(HTTP 503)"),
    "529": ("overloaded", {}, "overloaded", "the server is overloaded (HTTP 529)"),
    "429": ("throttled", {"seconds": 2}, "rate-limited", "takes no more requests for now (HTTP 429)"),
    "429 for long": ("throttled", {"seconds": 600}, "rate-limited", "(HTTP 429)"),
    "cut": ("cut", {"characters": 0}, "broken-stream", "the answers break off"),
    "401": ("unauthorized", {}, "unauthorized", FAULTS["unauthorized"]),
    "402": ("no-credit", {}, "no-credit", FAULTS["no-credit"]),
    "404": ("unknown-model", {}, "unknown-model", FAULTS["unknown-model"]),
}
"""Fault, arguments, recorded name, owner's text."""


@pytest.mark.parametrize("way", shared(WAYS, 3))
async def test_each_way_of_not_answering_is_reported(stage: Stage, way: str) -> None:
    fault, told, word, why = WAYS[way]
    await meet(stage)
    stage.model.faults.switch(fault, **told)
    await stage.post("bob", BOB, "Wind the clock.")
    await passing(stage, 20)
    status, said = await stage.health()
    assert (status, said["ok"]) == (200, False)
    [report] = said["reports"]
    assert report["failure"] == word
    assert why in report["what"]
    assert report["waiting"] == 1
    assert report["next_try"] > stage.clock.now()
    await mended(stage)
    assert (await stage.health())[1]["ok"]


REQUESTS: dict[str, Callable[[ClaudeUnderstudy], None]] = {
    "400": lambda model: model.fail(400, "invalid_request_error"),
    "403": lambda model: model.fail(403, "permission_error"),
}


@pytest.mark.parametrize("status", REQUESTS)
async def test_a_model_that_refuses_a_request_is_reported_until_it_takes_one(
    stage: Stage, status: str
) -> None:
    await meet(stage)
    REQUESTS[status](stage.model)
    await say(stage, "bob", BOB, "Wind the clock.")
    _, said = await stage.health()
    assert (said["ok"], len(said["reports"])) == (False, 1)
    await say(stage, "carol", CAROL, "Hello again.")
    assert (await stage.health())[1]["ok"]


async def test_what_the_policy_refuses_is_an_answer(stage: Stage) -> None:
    await meet(stage)
    stage.model.faults.switch("refusal")
    await say(stage, "bob", BOB, "Wind the clock.")
    assert stage.entries("model-call")[-1].event.outcome == "refused"
    _, said = await stage.health()
    assert (said["ok"], said["reports"]) == (True, [])


async def test_one_model_may_be_away_while_another_answers(stage: Stage) -> None:
    await meet(stage)
    await stage.sleep()
    await stage.wake(claude_model_fallback=HAIKU)
    stage.model.faults.switch("failing", model=SONNET)
    await stage.post("bob", BOB, "Wind the clock.")
    await passing(stage, 20)
    stage.model.faults.switch("refusal", model=SONNET)
    stage.model.faults.switch("failing", model=HAIKU)
    await stage.post("carol", CAROL, "Count the hills.")
    await passing(stage, 20)
    [report] = await reports(stage)
    assert report["models"] == [HAIKU], "the other one has answered, if only with a refusal"


async def test_models_of_which_the_same_is_true_share_a_report(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(claude_model_fallback=HAIKU)
    await meet(stage)
    stage.model.faults.switch("refusal", model=SONNET)
    stage.model.faults.switch("failing", model=HAIKU)
    await stage.post("bob", BOB, "Wind the clock.")
    await passing(stage, 20)
    stage.model.faults.switch("failing")
    await stage.post("carol", CAROL, "Count the hills.")
    await passing(stage, 20)
    [report] = await reports(stage)
    assert (report["models"], report["waiting"]) == ([SONNET, HAIKU], 2)
    assert f"No answer from {SONNET} and {HAIKU}:" in report["sentence"]


async def test_after_a_restart_it_is_reported_from_the_first_probe(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await meet(stage)
    stage.model.faults.switch("failing")
    since = await first_failure(stage, caplog)
    await passing(stage, 90)
    await stage.sleep()
    await stage.clock.advance(200)
    caplog.clear()
    await stage.wake()
    await stage.until(partial(failed, caplog, 1))
    [report] = await reports(stage)
    assert since <= report["since"] <= since + 10
    assert (report["models"], report["waiting"]) == ([SONNET], 1)
    assert "HTTP 502" in report["what"]
    await mended(stage)
    assert (await stage.health())[1]["ok"]


# Slow

SLOW = 40.0
"""Seconds to the first word."""


async def test_a_slow_model_is_reported_before_its_first_word_and_until_one_comes_in_time(
    stage: Stage,
) -> None:
    await meet(stage)
    stage.model.faults.switch("late", seconds=SLOW)
    began = stage.clock.now()
    await stage.post("bob", BOB, "Wind the clock.")
    await passing(stage, 19)
    assert (await stage.health())[1]["reports"] == []
    await passing(stage, 2)
    await overhears(stage)
    status, said = await stage.health()
    [report] = said["reports"]
    assert (status, said["ok"], said["wrong"]) == (200, True, [report["sentence"]])
    assert report["what"] == f"Slow answers from {SONNET}: the first word takes more than 20 s."
    assert (report["slow"], report["waiting"], report["since"]) == (True, 1, pytest.approx(began, abs=2))
    assert (await header(stage))["wrong"] == said["wrong"]
    assert (await metrics(stage))[SLOW_SINCE % SONNET] == pytest.approx(began, abs=2)
    await passing(stage, 40)
    await stage.settled()
    assert (await stage.health())[1]["reports"][0]["waiting"] == 0, "answered, and still reported"
    stage.model.faults.all_off()
    await say(stage, "carol", CAROL, "Are you there?")
    _, said = await stage.health()
    assert (said["ok"], said["wrong"], said["reports"]) == (True, [], [])


async def test_only_health_tells_that_a_model_without_a_listed_price_is_slow(stage: Stage) -> None:
    await meet(stage)
    await stage.sleep()
    await stage.wake(claude_model=LOCAL, owner_user_ids=OWNERS)
    stage.model.faults.switch("late", seconds=SLOW)
    asked = len(stage.model.requests)
    await stage.post("bob", BOB, "Wind the clock.")
    await stage.until(lambda: len(stage.model.requests) > asked)
    await passing(stage, 30)
    await overhears(stage)
    _, said = await stage.health()
    assert (said["ok"], said["wrong"], said["reports"]) == (True, [], [])
    assert (await header(stage))["wrong"] == []
    assert SLOW_SINCE % LOCAL not in await metrics(stage)
    [report] = (await details(stage))["reports"]
    assert (report["models"], report["slow"]) == ([LOCAL], True)


async def test_a_model_that_is_away_is_not_called_slow_besides(stage: Stage) -> None:
    await meet(stage)
    stage.model.faults.switch("late", seconds=SLOW)
    asked = len(stage.model.requests)
    await stage.post("bob", BOB, "Wind the clock.")
    await stage.until(lambda: len(stage.model.requests) > asked)
    await passing(stage, 45)
    await stage.settled()
    stage.model.faults.all_off()
    stage.model.faults.switch("failing")
    await stage.post("carol", CAROL, "Count the hills.")
    await passing(stage, 20)
    [report] = await reports(stage)
    assert report["failure"] == "server-error"


# Owners' notices


async def test_owners_read_in_a_dm_after_five_minutes_that_a_model_is_away(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=OWNERS)
    await meet(stage)
    stage.model.faults.switch("failing")
    since = await first_failure(stage, caplog)
    await passing(stage, SECONDS_TO_ALERT - 20)
    assert await unasked(stage, "alice", ALICE) == []
    await passing(stage, since + SECONDS_TO_ALERT + 2 * CHECK_INTERVAL - stage.clock.now())
    [told] = await unasked(stage, "alice", ALICE)
    assert told.startswith("The model I think with has not answered for some minutes.")
    assert f"No answer from {SONNET}: the server fails (HTTP 502). Since 14:13 UTC." in told
    assert "One person waits for an answer." in told
    assert await unasked(stage, "bob", BOB) == []
    await passing(stage, 1_800, step=60)
    await stage.sleep()
    await stage.wake()
    await passing(stage, 900, step=60)
    assert len(await unasked(stage, "alice", ALICE)) == 1, "once in an outage, whoever restarts"
    await mended(stage)
    [away, answer] = (await stage.answers(BOB, await root_of_bob(stage)))[-2:]
    assert away.startswith(AWAY)
    assert not answer.startswith(AWAY)


async def root_of_bob(stage: Stage) -> str:
    history = await stage.client("bob").conversations_history(channel=BOB)
    return next(str(one["ts"]) for one in history["messages"] if one["text"] == "Wind the clock.")


async def test_an_outage_that_ends_in_less_than_five_minutes_is_no_matter_for_a_dm(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=OWNERS)
    await meet(stage)
    stage.model.faults.switch("overloaded")
    await stage.post("bob", BOB, "Wind the clock.")
    await passing(stage, 200)
    stage.model.faults.all_off()
    await say(stage, "carol", CAROL, "Are you there?")
    await passing(stage, 600, step=60)
    assert await unasked(stage, "alice", ALICE) == []


@SOAK
async def test_the_next_outage_is_told_again(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=OWNERS)
    await meet(stage)
    for number in (1, 2):
        stage.model.faults.switch("failing")
        await stage.post("bob", BOB, f"Question {number}.")
        await passing(stage, 500)
        assert len(await unasked(stage, "alice", ALICE)) == number
        await mended(stage)
        await passing(stage, 700, step=50)


@SOAK
async def test_a_fault_of_the_account_is_told_at_once_and_not_again_after_five_minutes(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=OWNERS)
    await meet(stage)
    stage.model.faults.switch("unauthorized")
    await say(stage, "bob", BOB, "Wind the clock.")
    assert len(await unasked(stage, "alice", ALICE)) == 1
    await passing(stage, 900, step=50)
    assert len(await unasked(stage, "alice", ALICE)) == 1


@SOAK
async def test_owners_read_in_a_dm_that_a_model_is_slow_when_it_still_is_after_five_minutes(
    stage: Stage,
) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=OWNERS)
    await meet(stage)
    stage.model.faults.switch("late", seconds=SLOW)
    for number in range(9):
        asked = len(stage.model.requests)
        await stage.post("bob", BOB, f"Question {number}.")
        await stage.until(partial(is_asked, stage, asked))
        await passing(stage, 45)
        await stage.settled()
        if number == 4:
            assert await unasked(stage, "alice", ALICE) == []
    await passing(stage, 20)
    [told] = await unasked(stage, "alice", ALICE)
    assert told.startswith("The model I think with answers, but has been slow for some minutes.")


async def test_one_late_answer_long_ago_is_no_matter_for_a_dm(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=OWNERS)
    await meet(stage)
    stage.model.faults.switch("late", seconds=SLOW, times=1)
    asked = len(stage.model.requests)
    await stage.post("bob", BOB, "Wind the clock.")
    await stage.until(partial(is_asked, stage, asked))
    await passing(stage, 45)
    await stage.settled()
    await passing(stage, 600, step=30)
    assert [one["slow"] for one in (await details(stage))["reports"]] == [True]
    assert await unasked(stage, "alice", ALICE) == []


def is_asked(stage: Stage, before: int) -> bool:
    return len(stage.model.requests) > before


# Health


async def test_health_shows_what_runs_and_how_its_calls_fare(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.until(lambda: stage.soul.slack.hearing.alive_count == 2)
    shown = await details(stage)
    assert (shown["latency"]["calls"], shown["latency"]["median"], shown["errors"]) == (0, None, {})
    for seconds in (1, 2, 3, 10):
        stage.model.say(reply("Hello."), delay=seconds)
        asked = len(stage.model.requests)
        await stage.post("alice", ALICE, "Hello")
        await stage.until(partial(is_asked, stage, asked))
        await passing(stage, seconds)
        await stage.settled()
    stage.model.faults.switch("overloaded", times=1)
    await stage.post("alice", ALICE, "Hello")
    await stage.until(partial(failed, caplog, 1))
    shown = await details(stage)
    assert shown["latency"] == {"calls": 4, "median": 2.0, "most": 10.0}
    assert shown["errors"] == {"overloaded": 1}
    assert (shown["models"]["speak"], shown["models"]["fast"]) == (SONNET, HAIKU)
    assert (shown["sockets"], shown["sockets_wanted"]) == (2, 2)
    assert shown["uptime"] >= 16
    assert shown["version"].startswith("0.")
    told = await metrics(stage)
    assert told['soul_model_latency_seconds{quantile="0.5"}'] == 2
    assert told['soul_model_latency_seconds{quantile="0.95"}'] == 10
    assert told['soul_model_errors_total{failure="overloaded"}'] == 1


# No outage


async def test_a_daemon_that_never_was_away_has_nothing_to_catch_up_with(dormant: Stage) -> None:
    dormant.wire.garbled.add("conversations.history")
    await dormant.wake()
    await dormant.until(lambda: dormant.wire.told("conversations.history"))
    _, said = await dormant.health()
    assert dormant.soul.slack.catch_up.is_running
    assert (said["catching_up"], said["left_to_read"]) == (False, 0)
    await dormant.sleep()
    before = len(dormant.wire.told("conversations.history"))
    await dormant.wake()
    await dormant.until(lambda: len(dormant.wire.told("conversations.history")) > before)
    _, said = await dormant.health()
    assert said["catching_up"], "it was away between two starts"
    assert said["left_to_read"] > 0
    dormant.wire.garbled.clear()
