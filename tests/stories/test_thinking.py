"""Thoughts, sections, moods, texts and the budget."""

from __future__ import annotations

import itertools
import os

import pytest

from rehearsal.people import SOUL
from tests.soak import SOAK, later, shared
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage, reply

SECRET = "They have no idea what they are asking."


async def told(stage: Stage, *raws: str, chunk: int | None = None) -> list[str]:
    for raw in raws:
        stage.model.say(raw, chunk=chunk)
    ts = await stage.say("alice", ALICE, "Well?")
    return await stage.answers(ALICE, ts)


LEAKY = {
    "no tags": SECRET,
    "no dialogue": f"<aside>{SECRET}</aside>",
    "never closed": f"<aside>{SECRET} <say>Hello.</say>",
    "dialogue inside": f"<aside>{SECRET} <say>{SECRET}</say></aside>",
    "closed wrongly": f"<aside>{SECRET}</asde><say>Hello.</say>",
    "other tags": f"<thinking>{SECRET}</thinking>",
}


@pytest.mark.parametrize("raw", shared(LEAKY.values(), 2), ids=LEAKY.keys())
@pytest.mark.parametrize("chunk", [later(1), 7, later(1000)])
async def test_a_monologue_never_leaks(stage: Stage, raw: str, chunk: int) -> None:
    assert await told(stage, raw, "<say>Once more, plainly.</say>", chunk=chunk) == ["Once more, plainly."]
    first, second = stage.asked()
    assert stage.tags.opening("aside") in first.rpartition("Answer in")[2]
    assert "<aside" not in second.rpartition("Answer in")[2], "nothing private is asked for again"


@pytest.mark.parametrize("chunk", shared(range(1, 30, 4), 8))
async def test_an_aside_within_the_dialogue_stays_private(stage: Stage, chunk: int) -> None:
    raw = f"<say>Hello <aside>a <aside>b</aside>{SECRET}</aside>there.</say><mood>engaged</mood>"
    assert await told(stage, raw, chunk=chunk) == ["Hello there."]


async def test_asked_again_it_may_speak_without_tags(stage: Stage) -> None:
    assert await told(stage, SECRET, "Just words, this time.") == ["Just words, this time."]


async def test_with_nothing_to_say_twice_it_apologises(stage: Stage) -> None:
    [said] = await told(stage, SECRET, f"<aside>{SECRET}</aside>")
    assert said.startswith("Forgive me")


@SOAK
async def test_two_moods_give_two_requests(stage: Stage) -> None:
    stage.model.say(reply("Fine.", mood="neutral"))
    ts = await stage.say("alice", ALICE, "Hello")
    stage.model.say(reply("Hmpf.", mood="frustrated"))
    await stage.say("alice", ALICE, "You are wrong.", ts)
    await stage.say("alice", ALICE, "Still wrong.", ts)
    calm, _, cross = (asked.rpartition("Mood: ")[2] for asked in stage.asked())
    assert calm.startswith("neutral")
    assert cross.startswith("frustrated")
    assert "neutral (thinks, says)" in stage.told()[-1]
    assert "frustrated (grumbles, snaps)" in stage.told()[-1], "how each of them sounds"
    assert stage.entries("mood")[0].event.mood == "frustrated"
    await stage.say("alice", GENERAL, f"{ME} hello")
    assert "Mood: neutral" in stage.asked()[-1], "a mood belongs to its thread"


async def test_a_changed_prompt_changes_the_next_request(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Hello")
    path = stage.words / "prompts" / "steps" / "external_dialogue.md"
    path.write_text("<$tag>…</$tag> what $name $verb, as a limerick.\n")
    await stage.say("alice", ALICE, "Again", ts)
    assert "limerick" in stage.told()[-1]
    changed = [entry.event.name for entry in stage.entries("text")][-2:]
    assert {*changed} == {"prompts/steps/external_dialogue", "made/prompts/form"}


async def test_a_broken_prompt_keeps_the_last_good_one_and_says_so(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    ts = await stage.say("alice", ALICE, "Hello")
    path = stage.words / "prompts" / "person.md"
    path.write_text("You owe $nmaes $5.\n")
    await stage.say("alice", ALICE, "Again", ts)
    await stage.say("alice", ALICE, "And again", ts)
    assert "Alice just spoke" in stage.asked()[-1]
    [fault] = stage.entries("fault")
    assert "person.md cannot be used" in fault.event.text
    assert len([record for record in caplog.records if "person.md" in record.message]) == 1
    path.unlink()
    await stage.say("alice", ALICE, "Still there?", ts)
    assert "Alice just spoke" in stage.asked()[-1]


@SOAK
async def test_a_changed_soul_starts_a_new_prefix_that_is_visible(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "Hello")
    soul = stage.words / "soul.md"
    soul.write_text(soul.read_text() + "\nYou collect stamps.\n")
    os.utime(soul)
    await stage.say("alice", ALICE, "Again", ts)
    systems = [str(request["system"]) for request in stage.model.requests]
    assert ["stamps" in system for system in systems] == [False, True]
    assert stage.entries("text")[-1].event.name == "soul"


async def test_prompts_only_grow_and_the_cache_is_read(stage: Stage) -> None:
    ts = await stage.say("alice", ALICE, "A first message. " * 40)
    for text in ("a second", "a third", "a fourth"):
        await stage.say("alice", ALICE, text, ts)
    lasting = [[lasts(message) for message in request["messages"]] for request in stage.model.requests]
    for before, after in itertools.pairwise(lasting):
        assert after[: len(before)] == before
    usages = [call.event.usage for call in stage.entries("model-call")]
    assert all(usage.cache_read > 500 for usage in usages[1:])


def lasts(message: dict[str, object]) -> str:
    blocks = message["content"]
    assert isinstance(blocks, list)
    texts = [block["text"] for block in blocks]
    return str([text for text in texts if not text.startswith("Alice just spoke")])


async def test_the_budget_of_a_day_ends_in_a_plain_sentence_and_no_call(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(budget_daily_usd=0.15)
    ts = await stage.say("alice", ALICE, "Hello")
    first = len(stage.model.requests)
    for _ in range(4):
        await stage.say("alice", ALICE, "More of this, and at length. " * 300, ts)
    said = await stage.answers(ALICE, ts)
    assert said[-1].startswith("I have used up what I may spend")
    assert first <= len(stage.model.requests) < 5
    assert stage.soul.budget.today().cost <= 0.15
    await stage.clock.skip(86_400)
    ts = await stage.say("bob", BOB, "Good morning")  # Alice's long DM would cost too much
    assert not (await stage.answers(BOB, ts))[-1].startswith("I have used up")


async def test_model_output_pings_nobody(stage: Stage) -> None:
    said = await told(stage, reply(f"Hey <!channel> and <!here|here>, <@{SOUL.user}> and @everyone"), chunk=1)
    assert "<!" not in said[0]
    assert "@everyone" not in said[0]
    history = await stage.client("alice").conversations_history(channel=ALICE)
    root = history["messages"][0]["ts"]
    replies = await stage.client("alice").conversations_replies(channel=ALICE, ts=root)
    assert len(replies["messages"]) == 2
    assert "pings" not in str(replies["messages"])


async def test_each_call_says_what_it_cost_and_saw(stage: Stage) -> None:
    await stage.say("alice", ALICE, "Hello")
    [call] = stage.entries("model-call")
    assert call.event.model == "claude-sonnet-5-5"
    assert call.event.usage.input > 0
    assert call.event.usage.output > 0
    assert call.event.cost > 0
    for field in ("first_text", "seconds", "saw", "texts", "seqs", "trailing"):
        assert getattr(call.event, field) is not None, field
    async with stage.session.get(f"{stage.soul.url}/console/calls/{call.seq}") as response:
        shown = await response.json()
    assert shown["agrees"]
    assert shown["request"] == stage.seen(0)
