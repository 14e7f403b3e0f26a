"""Model failures and people's single notice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from daemon.claude.availability import MOST_TRIES_OF_CALL
from daemon.claude.client import STALL
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.soak import SOAK, but, shared
from tests.stories.outage import AT_FAULT, AWAY, later, pauses
from tests.stories.stage import ALICE, Stage, reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Failure before the first word: cue and recorded name."""

    cue: Callable[[ClaudeUnderstudy], None]
    word: str


PASSING = {
    "429": Fault(cue=lambda model: model.fail(429, "rate_limit_error"), word="rate-limited"),
    "500": Fault(cue=lambda model: model.fail(500, "api_error"), word="server-error"),
    "529": Fault(cue=lambda model: model.fail(529, "overloaded_error"), word="overloaded"),
    "error in the stream": Fault(cue=lambda model: model.fail(200, "overloaded_error"), word="overloaded"),
    "cut": Fault(cue=lambda model: model.cut(), word="broken-stream"),
    "no message_stop": Fault(cue=lambda model: model.cut(hush=True), word="broken-stream"),
}
LASTING = {
    "400": Fault(cue=lambda model: model.fail(400, "invalid_request_error"), word="bad-request"),
    "401": Fault(cue=lambda model: model.fail(401, "authentication_error"), word="unauthorized"),
}

SOAKED = [PASSING[name] for name in ("429", "500", "error in the stream", "cut")]
"""Cases for `make soak`; mutants need the others."""


@pytest.mark.parametrize("fault", but(PASSING.values(), SOAKED), ids=PASSING.keys())
async def test_what_passes_in_a_moment_nobody_notices(
    stage: Stage, thread: str, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    fault.cue(stage.model)
    stage.model.say(reply("Here I am."))
    await stage.post("alice", ALICE, "Are you there?", thread)
    await pauses(stage, caplog, 1)
    await stage.settled()
    assert await stage.answers(ALICE, thread) == ["Hello.", "Here I am."]
    call = stage.entries("model-call")[-1]
    assert (call.event.outcome, call.event.tries) == ("ok", 2)
    assert len(stage.model.requests) == 3


@pytest.mark.parametrize("fault", shared(PASSING.values(), 4), ids=PASSING.keys())
async def test_what_lasts_is_told_once_and_answered_later(
    stage: Stage, thread: str, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(MOST_TRIES_OF_CALL):
        fault.cue(stage.model)
    stage.model.say(reply("Now I am here."))
    await stage.post("alice", ALICE, "Are you there?", thread)
    await pauses(stage, caplog, MOST_TRIES_OF_CALL)
    await stage.settled()
    _, away = await stage.answers(ALICE, thread)
    assert away.startswith(AWAY)
    call = stage.entries("model-call")[-1]
    assert (call.event.outcome, call.event.failure, call.event.tries) == (
        "failed",
        fault.word,
        MOST_TRIES_OF_CALL,
    )
    await later(stage)
    assert await stage.answers(ALICE, thread) == ["Hello.", away, "Now I am here."]
    assert stage.soul.budget.today().cost == pytest.approx(
        sum(call.event.cost for call in stage.entries("model-call"))
    )
    assert not stage.pending("waiting", "outage", "input", "speech", "turn-began")


@pytest.mark.parametrize("fault", LASTING.values(), ids=LASTING.keys())
async def test_what_only_the_owner_can_mend_is_told_at_once(
    stage: Stage, thread: str, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    fault.cue(stage.model)
    stage.model.say(reply("Mended."))
    await stage.say("alice", ALICE, "Are you there?", thread)
    assert (await stage.answers(ALICE, thread))[-1].startswith((AWAY, AT_FAULT))
    assert len(stage.model.requests) == 2
    await later(stage)
    assert (await stage.answers(ALICE, thread))[-1] == "Mended."
    assert stage.entries("model-call")[-2].event.failure == fault.word
    assert "Rehearsed failure" not in str(await stage.answers(ALICE, thread))


async def test_a_model_that_is_not_there_is_answered_for_after_the_address_is_mended(
    stage: Stage, thread: str, unused_tcp_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.sleep()
    await stage.wake(anthropic_base_url=f"http://127.0.0.1:{unused_tcp_port}")
    await stage.post("alice", ALICE, "Are you there?", thread)
    await pauses(stage, caplog, MOST_TRIES_OF_CALL)
    await stage.settled()
    assert stage.entries("model-call")[-1].event.failure == "unreachable"
    await stage.sleep()
    stage.model.say(reply("Found."))
    await stage.wake(anthropic_base_url=stage.url)
    await later(stage)
    _, away, found = await stage.answers(ALICE, thread)
    assert (away[: len(AWAY)], found) == (AWAY, "Found.")


@SOAK
async def test_a_stream_that_stalls_is_given_up_and_asked_for_again(
    stage: Stage, thread: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage.model.say(reply("Never."), until=asyncio.Event())
    stage.model.say(reply("There it is."))
    await stage.post("alice", ALICE, "Are you there?", thread)
    await stage.until(lambda: len(stage.model.requests) == 2)
    while "Claude did not answer" not in caplog.text:
        await stage.clock.advance(STALL)
    await pauses(stage, caplog, 1)
    await stage.settled()
    assert await stage.answers(ALICE, thread) == ["Hello.", "There it is."]


async def test_slow_tokens_are_waited_for(stage: Stage, thread: str) -> None:
    stage.model.faults.switch("slow", seconds=STALL / 2)
    stage.model.say(reply("Word by word by word."), chunk=25)
    await stage.post("alice", ALICE, "Are you there?", thread)
    await stage.until(lambda: len(stage.model.requests) == 2)
    began = stage.clock.now()
    while not stage.entries("model-call")[1:]:
        await stage.clock.advance(1)
    assert stage.clock.now() - began > STALL
    await stage.settled()
    assert await stage.answers(ALICE, thread) == ["Hello.", "Word by word by word."]
    assert len(stage.model.requests) == 2


async def test_who_wants_to_be_left_alone_for_long_is_asked_again_by_timer(stage: Stage, thread: str) -> None:
    stage.model.faults.switch("throttled", seconds=30, times=1)
    stage.model.say(reply("Now I may."))
    await stage.say("alice", ALICE, "Are you there?", thread)
    assert (await stage.answers(ALICE, thread))[-1].startswith(AWAY)
    call = stage.entries("model-call")[-1]
    assert (call.event.failure, call.event.tries) == ("rate-limited", 1)
    await later(stage)
    assert (await stage.answers(ALICE, thread))[-1] == "Now I may."


@SOAK
async def test_a_stop_between_two_tries_loses_nothing(
    stage: Stage, thread: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage.model.fail(529, "overloaded_error")
    await stage.post("alice", ALICE, "Are you there?", thread)
    await stage.until(lambda: "Claude did not answer" in caplog.text)
    await stage.sleep()
    stage.model.say(reply("Here I am."))
    await stage.wake()
    await stage.settled()
    assert await stage.answers(ALICE, thread) == ["Hello.", "Here I am."]
    assert len(stage.entries("model-call")) == 2, "a call is recorded when it is over"
