"""Files, threads and channels to read, if all readers of the answer may read them."""

from __future__ import annotations

import asyncio

import pytest

from daemon.documents.document import Document, DocumentError
from daemon.engine.clock import DAY
from daemon.kinds import ConversationOpened
from daemon.slack.directory import AUDIENCE_SECONDS
from daemon.slack.shared_files import MOST_FILES, NO_FILES, NOWHERE, SlackSourceProvider
from daemon.slack.web_api import PAGE
from rehearsal.people import ALICE, BOB, CAROL, ECHO, SOUL, TEAM_URL
from tests.slack.absence import post_many
from tests.slack.office import GENERAL, ME, RANDOM, Office

LATER = 9_000_000_000.0
"""Time after all messages."""


def now(here: Office) -> float:
    return here.clock.now() + 1


def shelf(here: Office) -> SlackSourceProvider:
    return here.slack.shelf


async def begun(here: Office, channel: str = GENERAL, name: str = "alice") -> tuple[str, str]:
    """Return the thread and first ts of a conversation."""
    ts = await here.say(name, channel, f"{ME} hello")
    return here.entries(ConversationOpened)[-1].thread, ts


async def share(here: Office, name: str, content: str | bytes, root: str, channel: str = GENERAL) -> None:
    await here.client("alice").files_upload_v2(
        channel=channel,
        filename=name,
        content=content,
        initial_comment=f"{ME} read this",
        thread_ts=root,
        request_file_info=False,
    )
    await here.acked()


async def files(here: Office, thread: str, *names: str) -> dict[str, str]:
    return {document.name: document.text for document in await shelf(here).files(thread, names, LATER)}


async def refused(reading: object) -> str:
    with pytest.raises(DocumentError) as error:
        await reading  # type: ignore[misc]
    return str(error.value)


# Files


async def test_all_files_of_a_conversation_are_read_or_those_that_are_named(here: Office) -> None:
    thread, ts = await begun(here)
    for name in ("report.txt", "old report.txt", "Prices.CSV"):
        await share(here, name, f"this is {name}", ts)
    assert [*await files(here, thread)] == ["report.txt", "old report.txt", "Prices.CSV"]
    assert await files(here, thread, "report.txt") == {"report.txt": "this is report.txt"}, "in full"
    assert [*await files(here, thread, "REPORT")] == ["report.txt", "old report.txt"], "by a part of it"
    assert [*await files(here, thread, " prices.csv ")] == ["Prices.CSV"]
    assert [*await files(here, thread, "prices", "old")] == ["Prices.CSV", "old report.txt"]
    assert [*await files(here, thread, "report", "old report.txt")] == ["report.txt", "old report.txt"]


async def test_a_name_that_is_none_is_told_with_those_that_there_are(here: Office) -> None:
    thread, ts = await begun(here)
    await share(here, "report.txt", "one", ts)
    await share(here, "report.txt", "two", ts)
    for name in ("plans", "", "  "):
        said = await refused(shelf(here).files(thread, [name], LATER))
        assert said == f"There is no file called {name} in this conversation. There are: report.txt."


async def test_files_of_one_name_are_told_apart(here: Office) -> None:
    thread, ts = await begun(here)
    for content in ("one", "two", "three"):
        await share(here, "plan.txt", content, ts)
    assert await files(here, thread) == {"plan.txt": "one", "plan.txt (2)": "two", "plan.txt (3)": "three"}


async def test_more_files_than_are_read_at_once_want_names(here: Office) -> None:
    thread, ts = await begun(here)
    many = [
        {"id": f"F{n}", "name": f"{n}.txt", "mode": "hosted", "mimetype": "text/plain"}
        for n in range(MOST_FILES + 5)
    ]
    await here.put("alice", GENERAL, text=f"{ME} all of these", thread_ts=ts, files=many)
    assert await refused(shelf(here).files(thread, [], LATER)) == (
        "There are 25 files in this conversation; at most 20 are read: name those that matter."
    )
    assert "There are 25 files" in await refused(shelf(here).files(thread, [".txt"], LATER))
    assert "24.txt: " in await refused(shelf(here).files(thread, ["24.txt"], LATER)), (
        "that one it tries to get"
    )


async def test_a_file_that_cannot_be_had_is_told_with_its_name(here: Office) -> None:
    thread, ts = await begun(here)
    kept = [{"id": "F1", "name": "board.gdoc", "mode": "external", "mimetype": "text/plain"}]
    await here.put("alice", GENERAL, text=f"{ME} this", thread_ts=ts, files=kept)
    assert "board.gdoc: It is kept by another service" in await refused(shelf(here).files(thread, [], LATER))
    await share(here, "cat.png", b"\x89PNG\r\n\x1a\n" + bytes(99), ts)
    assert "cat.png" in await refused(shelf(here).files(thread, ["cat.png"], LATER))


async def test_where_nothing_was_shared_it_says_so(here: Office) -> None:
    thread, _ = await begun(here)
    _, elsewhere = await begun(here, RANDOM)
    await share(here, "report.txt", "of another conversation", elsewhere, RANDOM)
    assert await refused(shelf(here).files(thread, [], LATER)) == NO_FILES
    assert await refused(shelf(here).files(thread, ["report.txt"], LATER)) == NO_FILES


async def test_a_dm_is_one_conversation_also_for_files_and_nobody_elses(here: Office) -> None:
    dm, theirs = await here.dm("alice"), await here.dm("bob")
    shared = (
        ("alice", dm, "log.txt", "fog"),
        ("alice", dm, "plan.txt", "nine"),
        ("bob", theirs, "his.txt", "-"),
    )
    for who, channel, name, content in shared:
        await here.client(who).files_upload_v2(
            channel=channel, filename=name, content=content, request_file_info=False
        )
        await here.acked()
    thread, _ = await begun(here, dm)
    assert await files(here, thread) == {"plan.txt": "nine"}, "the latest, where none is named"
    assert await files(here, thread, "log.txt", "plan") == {"log.txt": "fog", "plan.txt": "nine"}
    assert "There are: log.txt, plan.txt" in await refused(shelf(here).files(thread, ["his.txt"], LATER))
    _, ts = await begun(here)
    await share(here, "report.txt", "of another thread", ts)
    channel, _ = await begun(here)
    assert await refused(shelf(here).files(channel, ["log.txt"], LATER)) == NO_FILES
    assert await refused(shelf(here).files(channel, ["report.txt"], LATER)) == NO_FILES


async def test_a_branch_reads_what_was_shared_with_its_root(here: Office) -> None:
    thread, ts = await begun(here)
    await share(here, "report.txt", "here", ts)
    assert await files(here, f"{thread}.helper.deeper") == {"report.txt": "here"}


# Threads


def lines(document: Document) -> list[str]:
    """Return the lines without times."""
    return [line for line in document.text.splitlines() if " UTC): " in line]


async def test_a_thread_is_all_that_stands_in_it_now(here: Office) -> None:
    root = str((await here.client("bob").chat_postMessage(channel=GENERAL, text="When?"))["ts"])
    first = await here.say("alice", GENERAL, "at nine", root)
    gone = await here.say("alice", GENERAL, "no, at ten", root)
    await here.client(ECHO.bot_token).chat_postMessage(channel=GENERAL, text="beep", thread_ts=root)
    await here.client(SOUL.bot_token).chat_postMessage(channel=GENERAL, text="At noon.", thread_ts=root)
    await share(here, "times.txt", "9", root)
    thread = here.entries(ConversationOpened)[-1].thread
    await here.client("alice").chat_update(channel=GENERAL, ts=first, text="at *eleven*")
    await here.client("alice").chat_delete(channel=GENERAL, ts=gone)
    await here.acked()
    [document] = await shelf(here).thread(thread, LATER)
    said = [line.partition(" (")[0] + line.partition(" UTC)")[2] for line in lines(document)]
    assert said == [
        "Bob: When?",
        "Alice: at *eleven*",
        "Echo: beep",
        "Claudius: At noon.",
        "Alice: @Claudius read this [file: times.txt]",
    ]


async def test_each_message_is_named_by_its_permalink(here: Office) -> None:
    thread, ts = await begun(here)
    reply = await here.say("bob", GENERAL, "hello, too", ts)
    [document] = await shelf(here).thread(thread, LATER)
    link = f"{TEAM_URL}archives/{GENERAL}/p"
    assert f"{link}{ts.replace('.', '')}" in document.text
    assert f"{link}{reply.replace('.', '')}?thread_ts={ts}&cid={GENERAL}" in document.text


async def test_a_thread_that_was_deleted_is_told(here: Office) -> None:
    thread, _ = await begun(here)
    here.wire.refuse["conversations.replies"] = ["thread_not_found"]
    assert "Nothing was said there" in await refused(shelf(here).thread(thread, LATER))


async def test_what_slack_does_not_show_is_told(here: Office) -> None:
    thread, _ = await begun(here)
    await here.caught_up()
    for error in ("channel_not_found", "not_in_channel", "missing_scope"):
        for method in ("conversations.replies", "conversations.history"):
            here.wire.refuse[method] = [error]
        reading = shelf(here).channel(thread, "", 7, now(here), [ALICE.id])
        assert "ask again in a while" in await refused(shelf(here).thread(thread, LATER)), error
        assert "ask again in a while" in await refused(reading), error


async def test_where_slack_is_away_it_ends(here: Office) -> None:
    thread, _ = await begun(here)
    await here.caught_up()
    here.wire.cut.add("conversations.replies")
    reading = asyncio.create_task(refused(shelf(here).thread(thread, LATER)))
    while not reading.done():
        await here.clock.advance(1)
        await asyncio.sleep(0)
    assert "Slack did not show it" in await reading


# Channels


async def test_a_channels_history_is_that_of_so_many_days_with_its_threads(here: Office) -> None:
    alice, bob = here.client("alice"), here.client("bob")
    old = str((await alice.chat_postMessage(channel=GENERAL, text="long ago"))["ts"])
    older = str((await alice.chat_postMessage(channel=GENERAL, text="a long matter"))["ts"])
    await bob.chat_postMessage(channel=GENERAL, text="an old reply", thread_ts=older)
    await here.clock.advance(3 * DAY)
    await bob.chat_postMessage(channel=GENERAL, text="still open?", thread_ts=older)
    root = str((await bob.chat_postMessage(channel=GENERAL, text="lunch?"))["ts"])
    await here.client("carol").chat_postMessage(channel=GENERAL, text="soup", thread_ts=root)
    thread, _ = await begun(here)
    [document] = await shelf(here).channel(thread, "", 1, now(here), [ALICE.id])
    said = [line.partition("UTC): ")[2] for line in lines(document)]
    assert said == ["a long matter", "still open?", "lunch?", "soup", "@Claudius hello"], old
    [document] = await shelf(here).channel(thread, "", 5, now(here), [ALICE.id])
    assert "long ago" in document.text
    assert "an old reply" in document.text


async def test_a_thread_with_an_older_root_is_read_where_a_message_to_all_tells_of_it(here: Office) -> None:
    alice, bob = here.client("alice"), here.client("bob")
    old = str((await alice.chat_postMessage(channel=GENERAL, text="a long matter"))["ts"])
    await bob.chat_postMessage(channel=GENERAL, text="an old reply", thread_ts=old)
    post_many(here, "alice", GENERAL, [f"{number}" for number in range(2 * PAGE)])
    await here.clock.advance(3 * DAY)
    await bob.chat_postMessage(channel=GENERAL, text="all of you!", thread_ts=old, reply_broadcast=True)
    thread, _ = await begun(here)
    [document] = await shelf(here).channel(thread, "", 1, now(here), [ALICE.id])
    said = [line.partition("UTC): ")[2] for line in lines(document)]
    assert said == ["a long matter", "all of you!", "@Claudius hello"]
    assert len(here.wire.told("conversations.replies")) == 1


async def test_a_direct_message_is_read_where_it_is(here: Office) -> None:
    thread, _ = await begun(here, await here.dm("alice"))
    [document] = await shelf(here).channel(thread, "", 7, now(here), [ALICE.id])
    assert "hello" in document.text


async def made(here: Office, name: str, *, private: bool) -> str:
    alice = here.client("alice")
    channel = str((await alice.conversations_create(name=name, is_private=private))["channel"]["id"])
    if private:
        await alice.conversations_invite(channel=channel, users=SOUL.user)
    await here.say("alice", channel, f"{ME} this is {name}")
    return channel


async def test_another_public_channel_is_read_for_its_members(here: Office) -> None:
    channel = await made(here, "attic", private=False)
    thread, _ = await begun(here)
    for name in ("attic", "#attic", " #Attic ", channel):
        [document] = await shelf(here).channel(thread, name, 7, now(here), [ALICE.id])
        assert "this is attic" in document.text
        assert document.name == "#attic"
    assert "You are not a member of #attic" in await refused(
        shelf(here).channel(thread, "attic", 7, now(here), [CAROL.id])
    )
    assert "You are not a member" in await refused(shelf(here).channel(thread, "attic", 7, now(here), []))


async def test_a_channel_is_read_by_the_name_that_it_has_now(here: Office) -> None:
    channel = await made(here, "attic", private=False)
    thread, _ = await begun(here)
    await here.client("alice").conversations_rename(channel=channel, name="loft")
    await here.clock.advance(AUDIENCE_SECONDS)
    await here.say("alice", channel, f"{ME} we have a new name")
    [document] = await shelf(here).channel(thread, "#loft", 7, now(here), [ALICE.id])
    assert document.name == "#loft"
    assert "this is attic" in document.text
    assert "cannot read attic from here" in await refused(
        shelf(here).channel(thread, "attic", 7, now(here), [ALICE.id])
    )


async def test_another_private_channel_is_read_for_nobody(here: Office) -> None:
    await made(here, "cellar", private=True)
    thread, _ = await begun(here)
    for asker in (ALICE.id, BOB.id, ""):
        said = await refused(shelf(here).channel(thread, "cellar", 7, now(here), [asker]))
        unknown = await refused(shelf(here).channel(thread, "nowhere", 7, now(here), [asker]))
        assert said == unknown.replace("nowhere", "cellar")
        assert "Ask me in that channel itself." in said


async def test_a_private_channel_is_read_in_itself_also_by_its_name(here: Office) -> None:
    channel = await made(here, "cellar", private=True)
    thread, _ = await begun(here, channel)
    for name in ("", "cellar", channel):
        [document] = await shelf(here).channel(thread, name, 7, now(here), [ALICE.id])
        assert "this is cellar" in document.text


async def test_a_channel_that_was_made_private_is_read_no_longer(here: Office) -> None:
    channel = await made(here, "attic", private=False)
    thread, _ = await begun(here)
    await here.event(event={"type": "channel_convert_to_private", "channel": channel, "event_ts": "1.0"})
    assert "cannot read attic from here" in await refused(
        shelf(here).channel(thread, "attic", 7, now(here), [ALICE.id])
    )


async def test_where_people_from_outside_read_no_other_channel_is_read(here: Office) -> None:
    await made(here, "attic", private=False)
    outside = await made(here, "ext-friends", private=False)
    thread, _ = await begun(here, outside)
    assert "cannot read attic" in await refused(
        shelf(here).channel(thread, "attic", 7, now(here), [ALICE.id])
    )


async def test_a_direct_message_of_somebody_is_nobody_elses(here: Office) -> None:
    theirs = await here.dm("bob")
    await begun(here, theirs, "bob")
    thread, _ = await begun(here, await here.dm("alice"))
    assert "cannot read" in await refused(shelf(here).channel(thread, theirs, 7, now(here), [ALICE.id]))


async def test_what_is_no_conversation_of_slacks_has_nothing_to_read(here: Office) -> None:
    for reading in (
        shelf(here).thread("sess-inner", LATER),
        shelf(here).channel("sess-inner", "", 7, now(here), [ALICE.id]),
    ):
        assert await refused(reading) == NOWHERE
    assert await refused(shelf(here).files("sess-inner", [], LATER)) == NO_FILES
