"""Shared files: metadata recorded, bytes read later."""

from __future__ import annotations

import pytest

from daemon.engine.event import Entry
from daemon.errors import FileTemporarilyUnavailable, FileUnavailable
from daemon.kinds import IncomingMessage
from daemon.knowledge.visibility import KnownChannels, may_know
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply

PLAN = b"%PDF-1.7\x00\xff the plan"


async def share(stage: Stage, name: str, channel: str, text: str) -> None:
    client = stage.client(name)
    await client.files_upload_v2(filename="plan.pdf", content=PLAN, channel=channel, initial_comment=text)
    await stage.settled()


def said(stage: Stage) -> Entry[IncomingMessage]:
    (entry,) = stage.entries("message")
    return entry


async def test_a_file_is_kept_in_the_journal_and_fetched_after_a_restart(stage: Stage) -> None:
    stage.model.say(reply("I see."))
    await share(stage, "alice", ALICE, "Look at this")
    before = said(stage).event.files
    await stage.sleep()
    await stage.wake()
    (file,) = said(stage).event.files
    assert (file,) == before
    assert (file.name, file.mimetype, file.filetype, file.size) == (
        "plan.pdf",
        "application/pdf",
        "pdf",
        len(PLAN),
    )
    assert (file.mode, file.access, file.id[:1]) == ("hosted", "visible", "F")
    assert await stage.soul.slack.files.fetch(file) == PLAN


async def test_the_model_sees_the_name_and_nothing_else_of_it(stage: Stage) -> None:
    stage.model.say(reply("I see."))
    await share(stage, "alice", ALICE, "Look at this")
    (file,) = said(stage).event.files
    asked = str(stage.asked())
    assert "[file, only its name can be seen: plan.pdf]" in asked
    assert file.id not in asked
    assert "files-pri" not in asked


async def test_where_a_file_may_be_known_is_told_by_its_entry(stage: Stage) -> None:
    for _ in range(2):
        stage.model.say(reply("I see."))
    await share(stage, "alice", ALICE, "Look at this")
    await share(stage, "bob", GENERAL, f"{ME} and at this")
    places = KnownChannels(stage.soul.journal)
    private, public = (
        (places.channel_of(entry.thread), entry.seq)
        for entry in stage.entries("message")
        if entry.event.files
    )
    assert private[0]
    assert public[0]
    dm, general = private[0].audience_before(private[1]), public[0].audience_before(public[1])
    assert may_know(here=dm, there=general)
    assert not may_know(here=general, there=dm)


async def test_a_file_that_was_shared_before_the_soul_was_called_in_is_there_too(stage: Stage) -> None:
    stage.model.say(reply("I see."))
    alice = stage.client("alice")
    root = str((await alice.chat_postMessage(channel=GENERAL, text="About the plan"))["ts"])
    await alice.files_upload_v2(filename="plan.pdf", content=PLAN, channel=GENERAL, thread_ts=root)
    await stage.say("bob", GENERAL, f"{ME} what is that?", root)
    files = [file for entry in stage.entries("heard") for file in entry.event.files]
    assert [await stage.soul.slack.files.fetch(file) for file in files] == [PLAN]


async def test_a_file_of_an_app_without_the_scope_is_refused_in_plain_words(stage: Stage) -> None:
    stage.model.say(reply("I see."))
    await share(stage, "alice", ALICE, "Look at this")
    (file,) = said(stage).event.files
    stage.world.faults.switch("missing-scope", scope="files:read")
    with pytest.raises(FileUnavailable, match="the app lacks the scope files:read"):
        await stage.soul.slack.files.fetch(file)
    stage.world.faults.all_off()
    assert await stage.soul.slack.files.fetch(file) == PLAN


async def test_a_file_is_there_again_when_slack_is(stage: Stage) -> None:
    stage.model.say(reply("I see."))
    await share(stage, "alice", ALICE, "Look at this")
    (file,) = said(stage).event.files
    stage.world.faults.switch("rate-limit", method="files.*", seconds=60.0)
    with pytest.raises(FileTemporarilyUnavailable, match="Slack takes no more requests"):
        await stage.soul.slack.files.fetch(file)
    stage.world.faults.all_off()
    assert await stage.soul.slack.files.fetch(file) == PLAN


async def test_a_file_whose_message_was_deleted_is_gone(stage: Stage) -> None:
    stage.model.say(reply("I see."))
    await share(stage, "alice", ALICE, "Look at this")
    entry = said(stage)
    await stage.client("alice").chat_delete(channel=ALICE, ts=entry.event.ts)
    with pytest.raises(FileUnavailable, match="It was deleted, or this app is not in the conversation"):
        await stage.soul.slack.files.fetch(entry.event.files[0])
