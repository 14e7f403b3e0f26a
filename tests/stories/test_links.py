"""Links that nobody in the conversation named: Slack must not fetch them."""

from __future__ import annotations

import pytest

from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply

EVIL = "https://evil.example/p?secret=1"


async def test_a_link_that_nobody_named_is_code_in_a_stream(stage: Stage) -> None:
    stage.model.say(reply(f"See {EVIL} and [this](https://evil.example)."), chunk=3)
    ts = await stage.say("alice", ALICE, "Sum it up.")
    assert await stage.answers(ALICE, ts) == [f"See `{EVIL}` and `[this](https://evil.example)`."]
    assert "chat.startStream" in stage.wire.spoken
    assert "chat.update" not in stage.wire.spoken, "nothing had to be set right"
    assert EVIL in stage.entries("spoken")[-1].event.text, "what the soul said is remembered as it said it"


async def test_what_a_person_named_stays_a_link(stage: Stage) -> None:
    stage.model.say(reply("It is at https://boats.example/a."))
    ts = await stage.say("alice", ALICE, "Look at boats.example, please.")
    assert await stage.answers(ALICE, ts) == ["It is at https://boats.example/a."]


async def test_what_the_soul_named_itself_is_not_named_by_that(stage: Stage) -> None:
    stage.model.say(reply(f"See {EVIL}"))
    stage.model.say(reply(f"Again: {EVIL}"))
    ts = await stage.say("alice", ALICE, "Sum it up.")
    await stage.say("alice", ALICE, "Again?", ts)
    assert await stage.answers(ALICE, ts) == [f"See `{EVIL}`", f"Again: `{EVIL}`"]


async def test_what_was_named_in_another_conversation_does_not_count(stage: Stage) -> None:
    stage.model.say(reply("Well."))
    stage.model.say(reply(f"See {EVIL}"))
    await stage.say("bob", GENERAL, f"{ME} evil.example is bad.")
    ts = await stage.say("alice", ALICE, "Sum it up.")
    assert await stage.answers(ALICE, ts) == [f"See `{EVIL}`"]


async def test_a_post_keeps_its_links_and_has_no_previews(stage: Stage) -> None:
    stage.wire.refuse["chat.startStream"] = ["internal_error"]
    stage.model.say(reply(f"See {EVIL}"))
    ts = await stage.say("alice", ALICE, "Sum it up.")
    assert await stage.answers(ALICE, ts) == [f"See {EVIL}"]
    posted = [given for given in stage.wire.told("chat.postMessage") if given.get("metadata")]
    assert [(one["unfurl_links"], one["unfurl_media"]) for one in posted] == [(False, False)]


@pytest.mark.parametrize("word", ["internal_error", "unknown_method"])
async def test_code_arrives_as_it_was_written(stage: Stage, word: str) -> None:
    code = f"Run:\n\n```powershell\n<#\n  {EVIL} <!here>\n#>\n```\n\nThen `import x from '@here/maps-api'`."
    stage.model.say(reply(code), chunk=2)
    ts = await stage.say("alice", ALICE, "How?")
    stage.wire.refuse["chat.startStream"] = [word]
    stage.model.say(reply(code), chunk=2)
    await stage.say("alice", ALICE, "How again?", ts)
    assert await stage.answers(ALICE, ts) == [code, code]
