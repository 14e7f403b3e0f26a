"""Questions about long files, threads and channels."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.settings.limits import Limits
from tests.soak import SOAK
from tests.stories.choosing import pressed, whispers
from tests.stories.stage import ALICE, BOB, GENERAL, ME, Stage, reply, staged
from tests.stories.test_reading import BOOK, cell, endings

READING = "<aside>Long.</aside><next>deep_reading</next><say>I am reading it.</say><mood>focused</mood>"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        await stage.wake()
        yield stage


def wanting(question: str, source: str = "files", **more: object) -> str:
    return json.dumps({"question": question, "source": source, **more})


async def shares(stage: Stage, name: str, content: str | bytes, words: str, channel: str = ALICE) -> str:
    client = stage.client("alice")
    await client.files_upload_v2(
        channel=channel, filename=name, content=content, initial_comment=words, request_file_info=False
    )
    history = await client.conversations_history(channel=channel, limit=1)
    return str(history["messages"][0]["ts"])


async def test_a_file_is_read_and_what_it_says_is_told_with_its_place(stage: Stage) -> None:
    stage.model.say(READING)
    stage.model.say(wanting("What is the magic number in the book?"))
    stage.model.say(cell("print([l for l in context['book.txt'].splitlines() if 'magic' in l])"))
    stage.model.say('FINAL(77 [book.txt:1234 "the magic number is 77"], or 78 [book.txt:9 "number is 78"])')
    told = 'It is 77 [book.txt:1234 "magic number is 77"]. Or not [book.txt:5 "no such words"].'
    stage.model.say(reply(told))
    ts = await shares(stage, "book.txt", BOOK, "What is the magic number?")
    await stage.settled()
    assert await stage.answers(ALICE, ts) == [
        "I am reading it.",
        'It is 77 [book.txt:1234 "magic number is 77"]. Or not.',
    ]
    notes = stage.asked()[-1]
    assert "77 [book.txt:1234" in notes
    assert "78 [book.txt:9" not in notes
    assert "Citations that did not hold were left out: 1" in notes


async def test_what_cannot_be_read_is_told_as_it_is(stage: Stage) -> None:
    stage.model.say(READING)
    stage.model.say(wanting("What does it show?"))
    stage.model.say(reply("I cannot read pictures."))
    ts = await shares(stage, "cat.png", b"\x89PNG\r\n\x1a\n" + bytes(99), "What does it show?")
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["I am reading it.", "I cannot read pictures."]
    assert endings(stage) == [("unreadable", True)]
    assert "cat.png" in stage.asked()[-1]


async def test_a_large_file_of_the_owners_is_read_like_one_that_is_shared(
    stage: Stage, tmp_path: Path
) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    lines = ["nothing of note, line by line by line"] * 40_000
    lines[33_332] = "the magic number is 77"
    (shelf / "log.txt").write_text("\n".join(lines))
    await stage.sleep()
    await stage.wake(knowledge_dirs=(shelf,))
    stage.model.say(READING)
    stage.model.say(wanting("What is the magic number?", "folders", names=["shelf/log.txt"]))
    stage.model.say(cell("print([l for l in context['shelf/log.txt'].splitlines() if 'magic' in l])"))
    stage.model.say('FINAL(It is 77 [shelf/log.txt:33333 "the magic number is 77"].)')
    stage.model.say(reply("So it is."))
    await stage.say("alice", ALICE, "Look into the log, please.")
    [ended] = stage.entries("reading-ended")
    assert ended.event.answer == 'It is 77 [shelf/log.txt:33333 "the magic number is 77"].'


@pytest.mark.parametrize(
    ("name", "size", "data", "why"),
    [
        ("huge.txt", 50_000_001, b"", "has 50,000,001 bytes, and files of more than 50 MB are not read"),
        ("photo.png", 0, b"\x89PNG\r\n\x1a\n" + b"\0" * 2_000_000, "is an image: only text can be read"),
        ("empty.txt", 0, b"", "is empty: there is nothing to read in it"),
        ("gone.txt", 0, None, "folders hold no such file"),
    ],
)
async def test_a_file_of_the_owners_that_is_not_read_is_named_with_the_reason(
    stage: Stage, tmp_path: Path, name: str, size: int, data: bytes | None, why: str
) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    if data is not None:
        (shelf / name).write_bytes(data)
    if size:
        os.truncate(shelf / name, size)
    await stage.sleep()
    await stage.wake(knowledge_dirs=(shelf,))
    stage.model.say(READING)
    stage.model.say(wanting("What is in it?", "folders", names=[f"shelf/{name}"]))
    stage.model.say(reply("I cannot read it."))
    await stage.say("alice", ALICE, "Look into it, please.")
    [ended] = stage.entries("reading-ended")
    assert (ended.event.reason, ended.event.answer.startswith(f"shelf/{name}")) == ("unreadable", True)
    assert why in ended.event.answer
    assert why in stage.asked()[-1], "whoever speaks knows it"


async def test_what_stands_in_the_owners_folders_is_read(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "book.txt").write_text("The magic number is 77.")
    await stage.sleep()
    await stage.wake(knowledge_dirs=(folder,))
    stage.model.say(READING)
    stage.model.say(wanting("What is the magic number?", "folders", names=["shelf/book.txt"]))
    stage.model.say("77")
    stage.model.say(reply("It is 77."))
    ts = await stage.say("alice", ALICE, "What is the magic number in your book?")
    assert await stage.answers(ALICE, ts) == ["I am reading it.", "It is 77."]
    assert endings(stage) == [("answered", False)]


@SOAK
async def test_a_thread_is_read_to_its_beginning_with_links(stage: Stage) -> None:
    root = await stage.post("bob", GENERAL, "The ferry leaves at nine.")
    await stage.post("carol", GENERAL, "No, at ten.", root)
    stage.model.say(READING)
    stage.model.say(wanting("When does the ferry leave?", "thread"))
    stage.model.say("Bob says at nine, Carol at ten.")
    stage.model.say(reply("At nine or at ten."))
    await stage.say("alice", GENERAL, f"{ME} when does it leave, by this thread?", root)
    whole = stage.asked()[2]
    assert "Bob" in whole
    assert "The ferry leaves at nine." in whole
    assert f"/archives/{GENERAL}/p{root.replace('.', '')}" in whole
    assert (await stage.answers(GENERAL, root))[-1] == "At nine or at ten."


async def test_the_history_of_a_channel_is_read_with_its_threads(stage: Stage) -> None:
    root = await stage.post("bob", GENERAL, "Lunch is at noon.")
    await stage.post("carol", GENERAL, "Soup, again.", root)
    stage.model.say(READING)
    stage.model.say(wanting("What is for lunch?", "channel", days=2))
    stage.model.say("Soup.")
    stage.model.say(reply("Soup."))
    await stage.say("alice", GENERAL, f"{ME} what is for lunch, by this channel?")
    whole = stage.asked()[2]
    assert "Lunch is at noon." in whole
    assert "Soup, again." in whole


async def test_another_channel_is_read_only_where_all_could_and_the_asker_does(stage: Stage) -> None:
    stage.model.say(READING)
    stage.model.say(wanting("What is secret?", "channel", names=["#random"]))
    stage.model.say(reply("I cannot read that from here."))
    await stage.say("bob", BOB, "what do they say in #random?")
    assert endings(stage) == [("unreadable", True)]
    assert "cannot read #random from here" in stage.asked()[-1]


@SOAK
async def test_at_a_bound_it_tells_what_it_knows_and_an_owner_lets_it_go_on(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(rlm_max_iterations=1, owner_user_ids=frozenset({"U0ALICE0001"}))
    stage.model.say(READING)
    stage.model.say(wanting("What is the magic number?"))
    stage.model.say(cell("print(1)"))
    stage.model.say("Not found yet.", asks="no more room")
    stage.model.say(reply("Not found yet."))
    ts = await shares(stage, "book.txt", BOOK, "What is the magic number?")
    await stage.settled()
    assert endings(stage) == [("iterations", True)]
    stage.model.say("FINAL(77)")
    stage.model.say(reply("It is 77."))
    await pressed(stage, "alice", "Continue")
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "It is 77."
    assert "Not found yet." in next(text for text in stage.asked() if "came to its bound" in text)


async def test_an_owner_lets_it_go_on_though_the_file_cannot_be_had_again(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(rlm_max_iterations=1, owner_user_ids=frozenset({"U0ALICE0001"}))
    stage.model.say(READING)
    stage.model.say(wanting("What is the magic number?"))
    stage.model.say(cell("print(1)"))
    stage.model.say("Not found yet.", asks="no more room")
    found = 'Not found, but [book.txt:1234 "magic number is 77"].'
    stage.model.say(reply(found))
    ts = await shares(stage, "book.txt", BOOK, "What is the magic number?")
    await stage.settled()
    stage.world.faults.switch("missing-scope", scope="files:read")
    stage.model.say(reply("I cannot read it any more."))
    await pressed(stage, "alice", "Continue")
    _, said, *_, last = await stage.answers(ALICE, ts)
    assert said == found
    assert last == "I cannot read it any more."
    assert endings(stage) == [("iterations", True), ("unreadable", True)]
    assert not whispers(stage)
    assert not stage.entries("restarted")


@SOAK
async def test_a_bound_of_the_turn_holds_it_and_an_owner_lifts_that_one(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(limit_turn=Limits(usd=0.02), owner_user_ids=frozenset({"U0ALICE0001"}))
    stage.model.say(READING)
    stage.model.say(wanting("What is the magic number?"))
    stage.model.say(cell("print(llm_query('Look: ' + context['book.txt']))"))
    stage.model.say("nothing", asks="Look:")
    stage.model.say("Not found yet.", asks="no more room")
    stage.model.say(reply("Not found yet."))
    await shares(stage, "book.txt", BOOK * 9, "What is the magic number?")
    await stage.settled()
    assert endings(stage) == [("money", True)]
    [asked] = stage.pending("asked")
    assert asked.event.about["resets"] == "turn"
    stage.model.say("FINAL(77)")
    stage.model.say(reply("It is 77."))
    await pressed(stage, "alice", "Continue")
    assert endings(stage)[-1] == ("answered", False)


@SOAK
async def test_what_is_said_or_shared_later_is_not_read(stage: Stage) -> None:
    root = await stage.post("bob", GENERAL, "The ferry leaves at nine.")
    held = asyncio.Event()
    stage.model.say(READING)
    stage.model.say(wanting("When does it leave?", "thread"), until=held)
    stage.model.say("At nine.")
    stage.model.say(reply("At nine."))
    await stage.post("alice", GENERAL, f"{ME} when does it leave, by this thread?", root)
    await stage.until(lambda: len(stage.model.requests) == 2)
    await stage.post("bob", GENERAL, "No, at eleven.", root)
    held.set()
    await stage.until(lambda: endings(stage))
    [whole] = [text for text in stage.asked() if "Answer a question about a text" in text]
    assert "leaves at nine" in whole
    assert "eleven" not in whole
