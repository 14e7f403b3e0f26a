"""Older journal restored: answers shown in Slack are not repeated."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.app.journal_commands import backup_journal
from daemon.kinds import ANSWERED, OWN_WORDS
from rehearsal.people import SOUL
from tests.stories.choosing import ASKED, ON_IT, choice, turning
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply, staged

FILES = ("journal.db", "journal.db-wal", "journal.db-shm", "journal.index.db")


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        await stage.wake()
        stage.model.say(reply("Answer one."))
        await stage.say("alice", GENERAL, f"{ME} question one")
        backup_journal(stage.home / "journal.db", tmp_path / "copy.db")
        yield stage


async def restore(stage: Stage) -> None:
    await stage.sleep()
    lose(stage)
    for name in FILES:
        (stage.home / name).unlink(missing_ok=True)
    (stage.home / "journal.db").write_bytes((stage.home.parent / "copy.db").read_bytes())
    await stage.wake()
    await stage.until(lambda: not stage.soul.slack.catch_up.is_running)
    await stage.settled()


def lose(stage: Stage) -> None:
    with stage.world.workspace.db as db:
        db.execute("update delivery set acked = 0 where acked is null and app = ?", (SOUL.id,))


async def plainly(stage: Stage, channel: str, root: str, text: str, **more: Any) -> str:
    client = stage.client("alice")
    client.token = SOUL.bot_token
    said = await client.chat_postMessage(channel=channel, thread_ts=root, text=text, **more)
    return str(said["ts"])


def heard(stage: Stage) -> list[tuple[str, str]]:
    return [(entry.event.text, entry.event.note) for entry in stage.entries("heard")]


async def test_what_was_answered_after_the_copy_is_remembered_and_not_answered_again(stage: Stage) -> None:
    stage.model.say(reply("Answer two."))
    channel = await stage.say("alice", GENERAL, f"{ME} question two")
    stage.model.say(reply("Answer three."))
    dm = await stage.say("alice", ALICE, "question three")
    asked = len(stage.model.requests)
    await restore(stage)
    assert len(stage.model.requests) == asked, "nothing is paid again"
    assert await stage.answers(GENERAL, channel) == ["Answer two."]
    assert await stage.answers(ALICE, dm) == ["Answer three."]
    assert set(heard(stage)) == {
        ("@Claudius question two", ANSWERED),
        ("Answer two.", OWN_WORDS),
        ("question three", ANSWERED),
        ("Answer three.", OWN_WORDS),
    }
    stage.model.say(reply("Of that."))
    await stage.say("alice", GENERAL, "what did you say?", channel)
    assert '<message from="Claudius" note="your own words">\nAnswer two.\n</message>' in str(
        [block for _, block in stage.prompt()]
    ).replace("\\n", "\n")


async def test_what_nobody_had_answered_is_answered_after_it(stage: Stage) -> None:
    stage.model.say(reply("Answer two."))
    root = await stage.say("alice", GENERAL, f"{ME} question two")
    await stage.sleep()
    third = await stage.post("bob", GENERAL, f"{ME} question three")
    again = await stage.post("alice", GENERAL, "and why?", root)
    stage.model.say(reply("Answer."))
    stage.model.say(reply("Answer."))
    await restore(stage)
    assert await stage.answers(GENERAL, third) == ["Answer."]
    assert await stage.answers(GENERAL, root) == ["Answer two.", "Answer."]
    assert again in [entry.event.ts for entry in stage.entries("message")]


async def test_an_answer_that_names_what_it_answers_proves_nothing_of_what_stands_between(
    stage: Stage,
) -> None:
    await stage.sleep()
    root = await stage.post("alice", GENERAL, f"{ME} question two")
    between = await stage.post("bob", GENERAL, f"{ME} question three", root)
    payload = {"key": "k", "journal": "j", "answers": root}
    metadata = {"event_type": "soul_speech", "event_payload": payload}
    await plainly(stage, GENERAL, root, "Answer two.", metadata=json.dumps(metadata))
    stage.model.say(reply("Answer three."))
    await restore(stage)
    assert await stage.answers(GENERAL, root) == ["Answer two.", "Answer three."]
    assert [entry.event.ts for entry in stage.entries("message")][1:] == [between]


async def test_an_answer_of_an_older_version_answers_all_that_stands_above_it(stage: Stage) -> None:
    await stage.sleep()
    root = await stage.post("alice", GENERAL, f"{ME} question two")
    await stage.post("bob", GENERAL, f"{ME} question three", root)
    metadata = {"event_type": "soul_speech", "event_payload": {"key": "k"}}
    await plainly(stage, GENERAL, root, "Answer two.", metadata=json.dumps(metadata))
    below = await stage.post("bob", GENERAL, "question four", root)
    stage.model.say(reply("Answer four."))
    await restore(stage)
    assert await stage.answers(GENERAL, root) == ["Answer two.", "Answer four."]
    assert [entry.event.ts for entry in stage.entries("message")][1:] == [below]


@pytest.mark.parametrize("answers", [None, ""])
async def test_a_question_is_no_answer(stage: Stage, answers: str | None) -> None:
    await stage.sleep()
    root = await stage.post("alice", GENERAL, f"{ME} delete it")
    button = {"type": "button", "text": {"type": "plain_text", "text": "Yes"}, "action_id": "a", "value": "v"}
    blocks = [{"type": "markdown", "text": "Sure?"}, {"type": "actions", "elements": [button]}]
    payload = {"key": "k"} if answers is None else {"key": "k", "journal": "j", "answers": answers}
    metadata = {"event_type": "soul_speech", "event_payload": payload}
    asked = {"blocks": json.dumps(blocks), "metadata": json.dumps(metadata)}
    await plainly(stage, GENERAL, root, "Sure?", **asked)
    stage.model.say(reply("Answer."))
    await restore(stage)
    assert await stage.answers(GENERAL, root) == ["Sure?", "Answer."]


async def test_what_broke_off_and_what_an_owner_is_asked_are_no_answers(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=frozenset({"U0ALICE0001"}))
    stage.soul.budget.daily = stage.soul.budget.today().cost + 0.13
    stage.model.cut(after=f"<aside>{'They ask much. ' * 1_000}</aside><say>The answer is, of cour")
    root = await stage.say("alice", ALICE, "question two")
    half, question = await stage.answers(ALICE, root)
    assert half.startswith("The answer is,")  # the wire decides its length
    assert (half[-2:], question[:28]) == (" …", "I have used up what I may sp")
    stage.model.say(reply("Answer two."))
    await restore(stage)
    assert await stage.answers(ALICE, root) == [half, question, "Answer two."]


async def test_what_tells_that_the_model_is_away_is_no_answer(stage: Stage) -> None:
    stage.model.fail(429, "rate_limit_error", wait=60)
    root = await stage.post("alice", ALICE, "question two")
    await stage.passing(1, lambda: stage.entries("outage") and stage.entries("spoken")[1:])
    stage.model.say(reply("Answer two."))
    await restore(stage)
    away, answer = await stage.answers(ALICE, root)
    assert (away[:12], answer) == ("I can't gath", "Answer two.")


async def test_words_that_only_announce_an_answer_are_none(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(ism_enabled=True)
    stage.model.say(turning())
    stage.model.say(choice("Respond"), until=asyncio.Event())
    root = await stage.post("alice", ALICE, ASKED)
    await stage.until(lambda: len(stage.model.requests) == 3)
    assert await stage.answers(ALICE, root) == [ON_IT]
    stage.model.say(reply("Answer two."))
    await restore(stage)
    assert (await stage.answers(ALICE, root))[-1] == "Answer two."


async def test_what_was_asked_while_a_known_answer_was_written_is_answered(stage: Stage) -> None:
    go_on = asyncio.Event()
    stage.model.say(reply("Answer two."), until=go_on)
    root = await stage.post("alice", GENERAL, f"{ME} question two")
    await stage.until(lambda: len(stage.model.requests) == 2)
    stage.world.faults.switch("delay", seconds=3_600)
    await stage.post("bob", GENERAL, f"{ME} question three", root)
    go_on.set()
    await stage.until(lambda: stage.entries("turn-ended")[1:])
    assert await stage.answers(GENERAL, root) == ["Answer two."]
    await stage.sleep()
    lose(stage)
    stage.model.say(reply("Answer three."))
    await stage.wake()
    await stage.until(lambda: stage.entries("turn-ended")[2:])
    assert await stage.answers(GENERAL, root) == ["Answer two.", "Answer three."]
    assert not [note for _, note in heard(stage) if note]


async def test_of_a_thread_begun_before_the_copy_nothing_is_shown_twice(stage: Stage) -> None:
    root = stage.entries("thread")[0].event.ts
    stage.model.say(reply("Answer two."))
    await stage.say("bob", GENERAL, "and two?", root)
    await restore(stage)
    stage.model.say(reply("Answer three."))
    await stage.say("alice", GENERAL, "and three?", root)
    seen = str(stage.prompt())
    for words in ("question one", "Answer one.", "and two?", "Answer two.", "and three?"):
        assert seen.count(words) == 1, words
    order = [seen.index(words) for words in ("Answer one.", "and two?", "Answer two.", "and three?")]
    assert order == sorted(order)
    assert await stage.answers(GENERAL, root) == ["Answer one.", "Answer two.", "Answer three."]
