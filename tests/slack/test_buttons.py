"""Buttons of a message, added and removed."""

from __future__ import annotations

import json

import pytest

from daemon.engine.event import digest
from daemon.ports import Button, ButtonRow
from tests.slack.asking import QUIET, TEXT, asked, labels, question
from tests.slack.office import GENERAL, Office
from tests.slack.voice import KEY, called, ours, texts


async def test_a_question_is_a_text_with_buttons(here: Office) -> None:
    thread, root, ts = await asked(here)
    (message,) = await here.replies(GENERAL, root)
    text, actions = message["blocks"]
    assert (message["ts"], message["text"]) == (ts, QUIET)
    assert (text["type"], text["text"], actions["type"]) == ("markdown", QUIET, "actions")
    assert [button.get("style") for button in actions["elements"]] == ["primary", "danger", None]
    assert json.loads(actions["elements"][0]["value"]) == {"asked": f"{thread}@3/ask#1", "value": "yes"}
    assert await labels(here, root) == ["Go ahead", "No", "Later"]


async def test_the_buttons_go_when_it_is_finished_without_them(here: Office) -> None:
    thread, root, ts = await asked(here)
    done = f"{TEXT}\n[Alice chose “Go ahead”]"
    assert await here.slack.speaker.finish(thread, ts, done, KEY, ours) == ts
    assert await texts(here, root) == [done.replace("<@", "<\u200b@")]
    assert await labels(here, root) == []
    assert here.wire.told("chat.update")[-1]["blocks"] == [
        {"type": "markdown", "text": done.replace("<@", "<\u200b@")}
    ]


async def test_a_question_that_an_earlier_life_left_keeps_its_words_alone(
    here: Office,
) -> None:
    thread, root, ts = await asked(here)
    (before,) = await here.replies(GENERAL, root)
    assert await here.slack.speaker.leave_message(thread, ts, " …", KEY, ours) == ""
    (left,) = await here.replies(GENERAL, root)
    assert left["text"] == before["text"]
    assert left["blocks"] == before["blocks"][:1]
    assert await labels(here, root) == []


async def test_after_a_crash_it_is_found_and_rewritten_with_its_buttons(here: Office) -> None:
    thread, root, ts = await asked(here)
    speaker = here.slack.speaker
    assert [(one.ts, one.key, one.text) for one in await speaker.own_messages(thread, 0)] == [
        (ts, digest(KEY), QUIET)
    ]
    assert await speaker.finish(thread, ts, "Shall I?", KEY, ours, question(thread)) == ts
    assert await texts(here, root) == ["Shall I?"]
    assert await labels(here, root) == ["Go ahead", "No", "Later"]


async def test_a_stream_ends_with_buttons_too(here: Office) -> None:
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Shall", KEY, ours)
    await speaker.finish(thread, ts, "Shall I?", KEY, ours, question(thread))
    assert await texts(here, root) == ["Shall I?"]
    assert await labels(here, root) == ["Go ahead", "No", "Later"]
    assert here.wire.spoken == ["chat.startStream", "chat.stopStream"]


async def test_so_does_what_only_looked_like_a_stream(here: Office) -> None:
    here.wire.lacking.add("chat.startStream")
    (thread, root), speaker = await called(here), here.slack.speaker
    ts = await speaker.start(thread, "Shall", KEY, ours)
    await speaker.finish(thread, ts, "Shall I?", KEY, ours, question(thread))
    assert await texts(here, root) == ["Shall I?"]
    assert await labels(here, root) == ["Go ahead", "No", "Later"]


@pytest.mark.parametrize("length", [4_000, 4_001, 10_900])
async def test_a_long_text_is_read_back_whole_with_buttons_and_without(here: Office, length: int) -> None:
    text = "x" * length
    thread, root, ts = await asked(here, text)
    speaker = here.slack.speaker
    for choices in (question(thread), None):
        await speaker.finish(thread, ts, text, KEY, ours, choices)
        assert [one.text for one in await speaker.own_messages(thread, 0)] == [text]
        assert bool(await labels(here, root)) == bool(choices)
    assert await texts(here, root) == [text], "its plain text, too, is whole again"


async def test_a_label_is_cut_to_what_slack_takes(here: Office) -> None:
    thread, root = await called(here)
    long = ButtonRow(asked="k", choices=(Button(label="y" * 100, value="yes"),))
    await here.slack.speaker.finish(thread, None, "Well?", KEY, ours, long)
    assert await labels(here, root) == ["y" * 75]
