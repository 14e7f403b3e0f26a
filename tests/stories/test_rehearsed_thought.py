"""Rehearsed open thought, derived from the question."""

from __future__ import annotations

import pytest

from rehearsal.people import SOUL
from tests.soak import SOAK, later
from tests.stories.stage import ALICE, Stage
from tests.stories.test_open_thought import ALONE, OPEN, prompts


def plans(stage: Stage) -> list[str]:
    return [entry.event.line() for entry in stage.entries("plan")]


def branches(stage: Stage) -> list[str]:
    return [entry.event.thread.partition(".")[2] for entry in stage.entries("thread-spawned")]


async def spoken(stage: Stage, ts: str) -> list[str]:
    replies = await stage.client("alice").conversations_replies(channel=ALICE, ts=ts)
    own = [one for one in replies["messages"] if one["user"] == SOUL.user]
    return [one["text"] for one in own if one.get("blocks", [{}])[-1].get("type") != "context"]


@SOAK
async def test_it_compares_in_branches_word_by_word_where_it_has_no_files(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Compare tea, coffee and mate. Think it through.")
    assert branches(stage) == ["tea", "coffee", "mate"]
    condition = "Compared: tea, coffee and mate"
    assert (plans(stage)[0], plans(stage)[-1]) == (f"0/4: {condition}", f"4/4: {condition}")
    assert plans(stage) == sorted(plans(stage)), "it never goes back"
    [answer] = await spoken(stage, ts)
    assert "“tea” has 3 letters, 2 of them vowels, and begins with T." in answer
    assert "“coffee” has 6 letters, 3 of them vowels, and begins with C." in answer
    assert "The shortest is tea, the longest is coffee, and coffee comes first in the alphabet." in answer
    assert "script" not in answer
    ended = [entry.event.result for entry in stage.entries("thread-ended")]
    assert len(ended) == 3
    assert stage.entries("turn-ended")[-1].event.process == "conversation"
    assert not stage.pending()


async def test_it_counts_in_a_fan_out_and_adds_up(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Count the vowels in banana, papaya and rhythm")
    assert branches(stage) == ["item-1", "item-2", "item-3"]
    condition = "Counted: the vowels in banana, papaya and rhythm"
    assert plans(stage) == [f"0/4: {condition}", f"4/4: {condition}"]
    [answer] = await spoken(stage, ts)
    assert "“banana” has 3 vowels (a, a, a)." in answer
    assert "“rhythm” has 0 vowels." in answer
    assert "That makes 6 vowels in all." in answer


@SOAK
async def test_each_question_gets_a_tree_of_its_own(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Compare tea and coffee.")
    await stage.say("alice", ALICE, "List the pros and cons of tea", ts)
    await stage.say("alice", ALICE, "Compare coffee with water", ts)
    assert branches(stage) == ["tea", "coffee", "pros-of-tea", "cons-of-tea", "coffee-1", "water"]
    first, second, third = await spoken(stage, ts)
    assert "tea and coffee, word by word" in first
    assert "For “tea”: it takes 3 letters to write." in second
    assert "The shortest is water" in third
    assert "tea" not in third


@SOAK
async def test_one_thing_is_thought_about_in_two_steps(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Why is the sky blue?")
    await stage.say("alice", ALICE, "Think it through.", ts)
    assert [entry.event.text for entry in stage.entries("self-call")] == [
        "Spell it out: Why is the sky blue?",
        "See what follows from that, then answer.",
    ]
    assert not branches(stage)
    answer = (await spoken(stage, ts))[-1]
    assert "“Why is the sky blue?”" in answer
    assert "5 words" in answer
    await stage.say("alice", ALICE, "Thanks!", ts)
    assert len(prompts(stage)) == 3, "after its answer it is in a conversation again"


@SOAK
async def test_where_iteration_is_not_allowed_it_goes_there_only_when_it_is_asked_to(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(iteration_capacity="none")
    ts = await stage.say("alice", ALICE, "Compare tea and coffee.")
    assert not prompts(stage)
    await stage.say("alice", ALICE, "Think it through.", ts)
    assert "tea and coffee, word by word" in (await spoken(stage, ts))[-1]
    await stage.say("alice", ALICE, "Think carefully: why is the sky blue?", ts)
    assert not stage.entries("self-call")
    assert "I have thought about it" in (await spoken(stage, ts))[-1]


@SOAK
async def test_it_reads_the_name_of_its_tags(stage: Stage) -> None:
    await stage.sleep()
    soul = stage.words / "soul.md"
    soul.write_text(soul.read_text().replace("Claudius", "Ada Lovelace"))
    await stage.wake()
    assert stage.soul.name == "Ada Lovelace", "whatever Slack calls it"
    ts = await stage.say("alice", ALICE, "Compare tea and coffee.")
    assert "The shortest is tea" in (await spoken(stage, ts))[-1]
    assert "<ada-lovelace-response>" in stage.entries("model-call")[-1].event.text


@SOAK
@pytest.mark.parametrize(
    ("remark", "things"),
    [later("Take your time.", ["tea", "coffee"]), ("Compare cats and dogs instead.", ["cats", "dogs"])],
)
async def test_a_remark_changes_nothing_and_another_task_everything(
    stage: Stage, remark: str, things: list[str]
) -> None:
    stage.model.say(None, delay=5, asks=OPEN)
    ts = await stage.post("alice", ALICE, "Compare tea and coffee.")
    await stage.until(lambda: len(prompts(stage)) == 1)
    await stage.post("alice", ALICE, remark, ts)
    await stage.clock.advance(6)
    await stage.settled()
    assert branches(stage)[-2:] == things
    [answer] = await spoken(stage, ts)
    assert f"{' and '.join(things)}, word by word" in answer


@SOAK
async def test_what_a_branch_did_not_find_is_said(stage: Stage) -> None:
    stage.model.say(None, asks=OPEN)
    stage.model.refuse(asks=OPEN)
    stage.model.refuse(asks=ALONE)
    ts = await stage.say("alice", ALICE, "Compare tea, coffee and mate")
    assert [entry.event.status for entry in stage.entries("thread-ended")].count("failed") == 1
    [answer] = await spoken(stage, ts)
    assert answer.count("no answer has come.") == 1
    assert plans(stage)[-1].startswith("3/4")
