"""Shorter text after a broken answer of several posts.

Stops leave read posts; answers and apologies replace them.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.slack.pages import pages
from tests.soak import later
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply
from tests.stories.test_open_thought import OVER, sentence

PATIENT = "claude-opus-5-5"
STOPPED = "Stopped."
BRIEF = "It is short now. Two sentences, no more."
PROSE = "\n\n".join(f"This is paragraph {n} of a story, which goes on for a while." for n in range(500))
ROWS = "".join(f"| boat {n} | berth {n} |\n" for n in range(700))
TABLE = f"| boat | berth |\n|---|---|\n{ROWS}"
CODE = "```python\n" + "total = total + 1\n" * 1_500
kinds_of_text = pytest.mark.parametrize("long", [PROSE, later(TABLE), CODE], ids=["prose", "table", "code"])


async def woken(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(claude_model=PATIENT)


async def broken_and_asked_again(stage: Stage, long: str) -> str:
    await woken(stage)
    stage.model.cut(f"<say>{long}", hush=True)
    stage.model.say(reply(BRIEF), until=asyncio.Event(), first=0)
    ts = await stage.post("alice", ALICE, "Tell me everything.")
    await stage.until(lambda: len(stage.model.requests) == 2)
    return ts


def assert_over(stage: Stage) -> None:
    assert not stage.pending("input", "turn-began", "speech", "card", "asked", "waiting")
    assert verify_journal(stage.soul.journal).violations == []


@kinds_of_text
async def test_a_stop_after_a_break_leaves_what_was_read_and_is_said_once(stage: Stage, long: str) -> None:
    ts = await broken_and_asked_again(stage, long)
    read = [page.text for page in pages(long)]
    await stage.say("alice", ALICE, "stop", ts)
    *left, said = await stage.answers(ALICE, ts)
    assert said == STOPPED
    assert left[:-1] == read[:-1]
    assert left[-1].startswith(read[-1][:-200].strip())
    assert left[-1].endswith("…")
    assert_over(stage)
    stage.model.say(reply("Here I am."))
    await stage.say("alice", ALICE, "Are you there?", ts)
    assert (await stage.answers(ALICE, ts))[len(read) + 1 :] == ["Here I am."]
    assert stage.asked()[-1].count(read[0][:40].split("\n")[0]) >= 1, "it knows what people have read"


async def test_a_stop_of_the_second_answer_does_not_write_over_the_first(stage: Stage) -> None:
    await woken(stage)
    stage.model.cut(f"<say>{PROSE}", hush=True)
    said = reply(BRIEF)
    stage.model.say(said, until=asyncio.Event(), first=said.index("now") + 4)
    ts = await stage.post("alice", ALICE, "Tell me everything.")
    await stage.until(lambda: len(stage.model.requests) == 2)
    await stage.say("alice", ALICE, "stop", ts)
    *left, last = await stage.answers(ALICE, ts)
    assert last == STOPPED
    assert left[:-1] == [page.text for page in pages(PROSE)][:-1]
    assert BRIEF[:16] not in "".join(left)
    assert_over(stage)


async def test_a_stop_of_an_answer_of_several_posts_ends_the_last_of_them(stage: Stage) -> None:
    await woken(stage)
    stage.model.say(reply(PROSE), until=asyncio.Event(), first=24_000)
    ts = await stage.post("alice", ALICE, "Tell me everything.")
    await stage.until(lambda: len(stage.entries("speech-started")) == 3)
    await stage.say("alice", ALICE, "stop", ts)
    said = await stage.answers(ALICE, ts)
    assert len(said) == 3
    assert said[-1].endswith(" …")
    assert STOPPED not in said
    assert_over(stage)


@kinds_of_text
@pytest.mark.parametrize("edits", ["taken", later("refused")])
async def test_a_shorter_second_answer_takes_the_place_of_all_posts(
    stage: Stage, long: str, edits: str
) -> None:
    await woken(stage)
    if edits == "refused":
        stage.wire.refuses = lambda method, _: "cant_update_message" if method == "chat.update" else ""
    stage.model.cut(f"<say>{long}", hush=True)
    stage.model.say(reply(BRIEF))
    ts = await stage.say("alice", ALICE, "Tell me everything.")
    assert await stage.answers(ALICE, ts) == [BRIEF]
    assert_over(stage)


async def test_a_second_answer_of_fewer_posts_deletes_those_that_are_left(stage: Stage) -> None:
    await woken(stage)
    stage.model.cut(f"<say>{PROSE}", hush=True)
    other = PROSE[:15_000].replace("story", "legend")
    stage.model.say(reply(other))
    ts = await stage.say("bob", GENERAL, f"{ME} Tell me everything.")
    assert await stage.answers(GENERAL, ts) == [page.text for page in pages(other.strip())]
    assert_over(stage)


async def test_an_apology_takes_the_place_of_all_posts(stage: Stage) -> None:
    await woken(stage)
    stage.model.refuse(after=f"<say>{PROSE}")
    stage.model.refuse()
    ts = await stage.say("alice", ALICE, "Tell me everything.")
    assert await stage.answers(ALICE, ts) == [sentence(stage, "lost_words")]
    assert_over(stage)


async def test_a_post_that_cannot_be_deleted_says_nothing_more(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await woken(stage)
    stage.wire.refuses = lambda method, _: "cant_delete_message" if method == "chat.delete" else ""
    stage.model.cut(f"<say>{PROSE}", hush=True)
    stage.model.say(reply(BRIEF))
    ts = await stage.say("alice", ALICE, "Tell me everything.")
    first, *others = await stage.answers(ALICE, ts)
    assert first == BRIEF
    assert set(others) == {"…"}
    assert "Slack refused to delete a message of the soul" in caplog.text
    assert_over(stage)


async def test_posts_that_can_neither_go_nor_change_do_not_keep_the_turn(stage: Stage) -> None:
    await woken(stage)
    fixed = ("chat.delete", "chat.update")
    stage.wire.refuses = lambda method, _: "cant_update_message" if method in fixed else ""
    stage.model.cut(f"<say>{PROSE}", hush=True)
    stage.model.say(reply(BRIEF))
    ts = await stage.say("alice", ALICE, "Tell me everything.")
    assert (await stage.answers(ALICE, ts))[-1] == BRIEF
    assert_over(stage)


async def test_a_second_answer_after_posts_that_grew_old_is_said_once(stage: Stage) -> None:
    text = " ".join(f"This is sentence {n}, and there are more." for n in range(1, 41))
    stage.model.faults.switch("slow", seconds=7)
    stage.model.faults.switch("stalled", characters=1_200, times=1)
    stage.model.say(reply(text), chunk=22)
    stage.model.say(reply(BRIEF))
    ts = await stage.post("alice", ALICE, "Tell me something, slowly.")
    await stage.passing(2, lambda: len(stage.model.requests) == 2)
    assert len(stage.entries("speech-started")) > 1
    stage.model.faults.all_off()
    await stage.passing(2, lambda: stage.entries("turn-ended") and not stage.pending("speech", "turn-began"))
    assert await stage.answers(ALICE, ts) == [BRIEF]
    assert_over(stage)


async def test_whoever_is_killed_before_a_shorter_answer_says_that_once(stage: Stage) -> None:
    ts = await broken_and_asked_again(stage, PROSE)
    await stage.sleep()
    stage.model.say(reply(BRIEF))
    await stage.wake(claude_model=PATIENT)
    await stage.settled()
    assert await stage.answers(ALICE, ts) == [BRIEF]
    assert_over(stage)


@pytest.mark.parametrize("held", ["chat.delete", "chat.update"])
async def test_whoever_is_killed_while_posts_go_says_it_once(stage: Stage, held: str) -> None:
    await woken(stage)
    stage.model.cut(f"<say>{PROSE}", hush=True)
    stage.model.say(reply(BRIEF))
    stage.wire.held[held] = asyncio.Event()
    ts = await stage.post("alice", ALICE, "Tell me everything.")
    await stage.until(lambda: len(stage.entries("model-call")) == 2)
    await stage.until(lambda: held in stage.wire.spoken)
    await stage.sleep()
    stage.wire.held.clear()
    await stage.wake(claude_model=PATIENT)
    await stage.settled()
    assert await stage.answers(ALICE, ts) == [BRIEF]
    assert_over(stage)


async def test_a_stop_in_open_thought_leaves_what_was_read_and_the_card(stage: Stage) -> None:
    await woken(stage)
    stage.model.say(OVER)
    plan = '<todo-until condition="all told"><step done="true">tell</step></todo-until>'
    stage.model.cut(f"{plan}<claudius-response>{PROSE}", hush=True)
    more: dict[str, Any] = {"until": asyncio.Event(), "first": 0}
    stage.model.say(plan, **more)
    ts = await stage.post("alice", ALICE, "Tell me everything.")
    await stage.until(lambda: len(stage.model.requests) == 3)
    await stage.say("alice", ALICE, "stop", ts)
    said = await stage.answers(ALICE, ts)
    assert said[-1] == STOPPED
    assert said[:2] == [page.text for page in pages(PROSE)][:2]
    assert_over(stage)
