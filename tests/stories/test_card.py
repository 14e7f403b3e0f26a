"""Plan card in Slack, changed in place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.kinds import IncomingMessage, PlanChanged
from daemon.memory import WorkingMemory
from daemon.process import Transition, Turn
from daemon.turn.plan_card import show_plan
from daemon.turn.recall import entry_as_memory
from daemon.turn.speech import say
from rehearsal.people import SOUL
from tests.soak import SOAK, later
from tests.stories.stage import ALICE, Stage, staged

STEPS = ("count <the> plums", "compare them", "tell Alice & Bob")
CONDITION = "Everybody knows"


def plan(done: int, steps: tuple[str, ...] = STEPS) -> PlanChanged:
    states = ["done" if n < done else "open" for n in range(len(steps))]
    if done < 0:
        states[-1] = "cancelled"
    return PlanChanged(condition=CONDITION, steps=tuple(zip(steps, states, strict=True)))


async def planning(turn: Turn) -> WorkingMemory | Transition:
    said = turn.answers[-1].event.text
    for word in said.split():
        if word.lstrip("-").isdigit():
            await show_plan(turn, plan(int(word)))
    spoken = await say(turn, f"Shown: {said}")
    memory = turn.memory.with_memory(*map(entry_as_memory, spoken))
    return Transition(to="planning" if "stay" in said else "conversation", memory=memory)


async def conversation(turn: Turn) -> Transition:
    return Transition(to="planning", memory=turn.memory, execute_now=True)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        stage.processes = {"conversation": conversation, "planning": planning}
        await stage.wake()
        yield stage
        assert verify_journal(stage.soul.journal).violations == []
        assert stage.pending("card") == []


async def tell(stage: Stage, text: str) -> str:
    asked = {"token": "xoxp-alice", "channel": ALICE, "text": text}
    async with stage.session.post(f"{stage.url}/rehearsal/message", json=asked) as response:
        return str((await response.json())["ts"])


async def cards(stage: Stage, root: str) -> list[dict[str, Any]]:
    replies = await stage.client("alice").conversations_replies(channel=ALICE, ts=root)
    own = [one for one in replies["messages"] if one["user"] == SOUL.user]
    return [one for one in own if one.get("blocks", [{}])[-1].get("type") == "context"]


async def read(stage: Stage, root: str) -> list[list[str]]:
    return [[_text(block) for block in card["blocks"]] for card in await cards(stage, root)]


def _text(block: dict[str, Any]) -> str:
    text = block["elements"][0]["text"] if block["type"] == "context" else block["text"]["text"]
    return str(text)


async def test_a_card_goes_from_nothing_to_all_in_place_over_turns_and_restarts(stage: Stage) -> None:
    root = await stage.say("alice", ALICE, "plan 0 stay")
    assert await read(stage, root) == [
        [CONDITION, "○ count &lt;the&gt; plums\n○ compare them\n○ tell Alice &amp; Bob", "0/3"]
    ]
    [first] = await cards(stage, root)
    assert first["text"] == f"0/3 {CONDITION}"
    await stage.sleep()
    await stage.wake()
    await stage.say("alice", ALICE, "plan 2 stay", root)
    assert (await read(stage, root))[0][1:] == [
        "✓ count &lt;the&gt; plums\n✓ compare them\n○ tell Alice &amp; Bob",
        "2/3",
    ]
    await stage.say("alice", ALICE, "plan 3 stay", root)
    [last] = await cards(stage, root)
    assert (last["ts"], last["text"]) == (first["ts"], f"3/3 {CONDITION}")
    shown = [(entry.event.ts, entry.event.done_count) for entry in stage.entries("card-shown")]
    assert shown == [(first["ts"], done) for done in (0, 2, 3)]
    assert len(await stage.answers(ALICE, root)) == 4


@SOAK
async def test_a_step_that_is_given_up_is_struck_out(stage: Stage) -> None:
    root = await stage.say("alice", ALICE, "plan -1")
    [[_, steps, figures]] = await read(stage, root)
    assert steps.splitlines()[-1] == "✕ ~tell Alice &amp; Bob~"
    assert figures == "0/3"


@SOAK
async def test_a_thread_that_comes_back_to_plan_gets_another_card(stage: Stage) -> None:
    root = await stage.say("alice", ALICE, "plan 3")
    await stage.say("alice", ALICE, "plan 0 1", root)
    assert [figures for *_, figures in await read(stage, root)] == ["3/3", "1/3"]


async def test_what_the_card_shows_already_is_not_sent_again(stage: Stage) -> None:
    await stage.say("alice", ALICE, "plan 1 1 1")
    assert stage.wire.spoken.count("chat.update") == 0
    assert len(stage.entries("card-shown")) == 3


@pytest.mark.parametrize(
    "word", ["cant_update_message", later("edit_window_closed"), later("restricted_action")]
)
async def test_a_change_that_slack_refuses_is_noted_and_nothing_else(stage: Stage, word: str) -> None:
    stage.wire.refuse["chat.update"] = [word]
    root = await stage.say("alice", ALICE, "plan 0 1")
    assert [figures for *_, figures in await read(stage, root)] == ["0/3"]
    [missed] = stage.entries("card-missed")
    assert word in missed.event.why
    assert (await stage.answers(ALICE, root))[-1] == "Shown: plan 0 1"
    assert not stage.entries("attempt-failed")


async def test_a_card_that_somebody_deletes_is_posted_once_more_and_no_oftener(stage: Stage) -> None:
    root = await stage.say("alice", ALICE, "plan 0 stay")
    for done in (1, 2, 3):
        for card in await cards(stage, root):
            await stage.client("alice").chat_delete(channel=ALICE, ts=card["ts"], token=SOUL.bot_token)
        await stage.say("alice", ALICE, f"plan {done} stay", root)
    assert await read(stage, root) == []
    assert [entry.event.done_count for entry in stage.entries("card-shown")] == [0, 1]
    assert ["message_not_found" in entry.event.why for entry in stage.entries("card-missed")] == [True, True]
    assert len(await stage.answers(ALICE, root)) == 4


async def test_while_slack_takes_no_card_the_answer_waits_for_seconds_only(stage: Stage) -> None:
    stage.wire.refuse["chat.postMessage"] = ["internal_error"] * 3
    root = await tell(stage, "plan 0")
    began = stage.clock.now()
    await stage.passing(0.5, lambda: stage.entries("turn-ended"))
    assert stage.clock.now() - began < 10
    assert await stage.answers(ALICE, root) == ["Shown: plan 0"]
    assert len(stage.entries("card-missed")) == 1


async def test_a_card_that_slack_does_not_take_at_once_is_shown_a_little_later(stage: Stage) -> None:
    stage.wire.refuse["chat.update"] = ["internal_error"] * 2
    root = await tell(stage, "plan 0 3")
    await stage.passing(0.5, lambda: stage.entries("turn-ended"))
    assert [figures for *_, figures in await read(stage, root)] == ["3/3"]
    assert not stage.entries("card-missed")


async def test_a_card_whose_answer_was_lost_is_not_posted_twice(stage: Stage) -> None:
    stage.wire.cut.add("chat.postMessage")
    root = await tell(stage, "plan 0 2")
    await stage.passing(0.5, lambda: stage.entries("attempt-failed"))
    stage.wire.cut.clear()
    await stage.passing(0.5, lambda: stage.entries("turn-ended"))
    assert [figures for *_, figures in await read(stage, root)] == ["2/3"]


async def test_a_card_that_nobody_knew_of_is_found_again_when_it_changes(stage: Stage) -> None:
    caught_up = asyncio.Event()
    stage.wire.held["conversations.history"] = caught_up  # backfill meets no refusal
    stage.wire.cut.add("chat.postMessage")
    stage.wire.refuse["conversations.replies"] = ["internal_error"] * 2
    root = await tell(stage, "plan 0 2 stay")
    await stage.passing(0.5, lambda: stage.entries("card-missed"))
    stage.wire.cut.clear()
    caught_up.set()
    await stage.passing(0.5, lambda: stage.entries("turn-ended"))
    assert [figures for *_, figures in await read(stage, root)] == ["2/3"]


async def test_a_branch_shows_no_card(tmp_path: Path) -> None:
    async def branching(turn: Turn) -> WorkingMemory:
        await show_plan(turn, plan(0))
        if turn.thread.endswith(".branch"):
            await turn.ctx.end_thread("done")
        else:
            errand = IncomingMessage(user="", name="itself", text="plan", ts="1.0", address="", bot=True)
            await turn.ctx.join([await turn.ctx.spawn("branch", errand)])
        return turn.memory

    async with staged(tmp_path) as stage:
        stage.processes = {"conversation": branching}
        await stage.wake()
        root = await stage.say("alice", ALICE, "plan")
        assert len(await cards(stage, root)) == 1
        assert {entry.thread for entry in stage.entries("card")} == {stage.entries("thread")[0].thread}


@SOAK
async def test_whatever_a_plan_holds_slack_takes_it_and_nobody_is_called(tmp_path: Path) -> None:
    hostile = (
        "<!channel> <@U0BOB000002> @here",
        "",
        "& < > " * 900,
        "two\nlines \ud800",
        "~*_`",
        *["x"] * 95,
    )
    worst = replace(plan(2, hostile), condition="<!everyone> " + "until & " * 90)

    async def conversation(turn: Turn) -> WorkingMemory:
        await show_plan(turn, worst)
        await show_plan(turn, PlanChanged(condition="", steps=()))
        await show_plan(turn, worst)
        return turn.memory

    async with staged(tmp_path) as stage:
        stage.processes = {"conversation": conversation}
        await stage.wake()
        root = await stage.say("alice", ALICE, "plan")
        [[_, *sections, figures]] = await read(stage, root)
        assert not stage.entries("card-missed")
        lines = "\n".join(sections).splitlines()
        assert len(lines) == 49
        assert lines[-1] == "… and 52 more"
        assert figures == "2/100"
        [card] = await cards(stage, root)
        assert "pings" not in card
        assert verify_journal(stage.soul.journal).violations == []
