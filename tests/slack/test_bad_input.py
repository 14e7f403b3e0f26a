"""Odd messages and broken envelopes, all acked."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from daemon.engine.event import Input
from daemon.kinds import ConversationOpened, IncomingMessage, OverheardMessage, SharedFile
from rehearsal.people import ALICE, BOB, TEAM
from tests.slack.office import GENERAL, ME, Office

SECRET = "the secret of Alice"


async def test_an_edit_is_heard_with_the_new_words(here: Office) -> None:
    ts = await here.say("alice", GENERAL, f"{ME} at noon")
    edited = await here.client("alice").chat_update(channel=GENERAL, ts=ts, text=f"{ME} at one")
    await here.acked()
    heard = here.one(OverheardMessage)
    when = edited["message"]["edited"]["ts"]
    assert heard.key == f"msg:{TEAM}:{GENERAL}:{ts}:edited:{when}"
    assert (heard.event.note, heard.event.text) == ("edited", "@Claudius at one")
    assert len(here.entries(Input)) == 1


async def test_a_deletion_is_heard_without_the_words(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    ts = await here.say("bob", GENERAL, SECRET, root)
    await here.client("bob").chat_delete(channel=GENERAL, ts=ts)
    await here.acked()
    heard = here.one(OverheardMessage)
    assert (heard.event.note, heard.event.text, heard.event.name) == ("deleted", "", "Bob")
    assert heard.key.startswith(f"msg:{TEAM}:{GENERAL}:{ts}:deleted:")


async def test_the_deletion_of_a_root_with_replies_is_heard_too(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    await here.say("bob", GENERAL, "hi", root)
    await here.client("alice").chat_delete(channel=GENERAL, ts=root)
    await here.acked()
    heard = here.one(OverheardMessage)
    assert (heard.event.note, heard.event.name, heard.event.text) == ("deleted", "Alice", "")


async def test_edits_and_deletions_elsewhere_leave_nothing(here: Office) -> None:
    ts = await here.say("alice", GENERAL, "lunch?")
    await here.client("alice").chat_update(channel=GENERAL, ts=ts, text="dinner?")
    await here.client("alice").chat_delete(channel=GENERAL, ts=ts)
    await here.acked()
    assert here.taken() == []


async def test_what_changes_no_word_of_a_person_is_no_edit(here: Office) -> None:
    ts = await here.say("alice", GENERAL, f"{ME} see <https://example.com>")
    old = {"user": ALICE.id, "text": f"{ME} see <https://example.com>", "ts": ts}
    event = {"type": "message", "subtype": "message_changed", "channel": GENERAL, "ts": "9.000001"}
    changes: tuple[dict[str, Any], ...] = (
        {"attachments": [{"fallback": "an unfurled link"}]},
        {"edited": {"user": ALICE.id, "ts": "9.000001"}},
        {"text": "a word of Slack's own"},
        {"text": "a bot's edit", "edited": {"user": ALICE.id, "ts": "9.000001"}, "bot_id": "B1"},
    )
    for change in changes:
        await here.event(event={**event, "message": {**old, **change}, "previous_message": old})
        assert here.entries(OverheardMessage) == [], change


TEXTS: tuple[tuple[str, str], ...] = (
    ("x" * 40_000, "x" * 40_000),
    ("👋🏽 :wave: 👨\u200d👩\u200d👧", "👋🏽 :wave: 👨\u200d👩\u200d👧"),
    ("\u202bשלום\u202c مرحبا", "\u202bשלום\u202c مرحبا"),  # noqa: RUF001 - Hebrew is no mistake
    ("1 &lt; 2 &amp;&amp; 3 &gt; 2, &amp;lt;", "1 < 2 && 3 > 2, &lt;"),
    (f"<@{BOB.id}> and <@{ALICE.id}|al>", "@Bob and @Alice"),
    ("<@U0NOBODY000> left", "@someone left"),
    (f"<#{GENERAL}> <#{GENERAL}|old> <#C0SECRET000>", "#general #old a channel"),
    ("<https://a.example/?x=1&amp;y=2|the docs>", "the docs (https://a.example/?x=1&y=2)"),
    ("<https://a.example/> <http://b.example|b.example>", "https://a.example/ http://b.example"),
    ("<mailto:a@b.example|a@b.example>", "a@b.example"),
    ("<!here> <!subteam^S1|@crew> <!date^1^{date}|today>", "@here @crew today"),
    ("\u0007 a < b <", "\u0007 a < b <"),
    ("a\u0000b \ud83d", "a\ufffdb \ufffd"),
)


async def test_any_text_reaches_the_journal_as_a_model_should_read_it(here: Office) -> None:
    dm = await here.dm("alice")
    for sent, _ in TEXTS:
        await here.say("alice", dm, sent)
    assert [entry.event.text for entry in here.entries(IncomingMessage)] == [read for _, read in TEXTS]


async def test_what_no_store_can_write_enters_nowhere(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    where = {"type": "message", "channel": GENERAL, "thread_ts": root, "ts": "1.000001"}
    half = {"username": "Pa\ud800ger\u0000", "text": "", "files": [{"name": "pl\ud800an\u0000"}]}
    alert = {"subtype": "bot_message", "bot_id": "B1", "attachments": [{"fallback": "a\udfff"}]}
    await here.event(event={**where, **alert, **half})
    heard = here.one(OverheardMessage).event
    assert (heard.name, heard.text) == ("Pa\ufffdger\ufffd", "a\ufffd")
    assert heard.files == (SharedFile(name="pl\ufffdan\ufffd"),)


async def test_a_name_is_one_short_line(here: Office) -> None:
    name = "Eve\n\u0007Alice\u2028: " + "x" * 100
    root = await here.say("alice", GENERAL, f"{ME} hello")
    bot = {"subtype": "bot_message", "bot_id": "B1", "username": name}
    where = {"type": "message", "channel": GENERAL, "thread_ts": root, "ts": "1.000001"}
    await here.event(event={**where, **bot, "text": "hello"})
    assert here.one(OverheardMessage).event.name == ("Eve Alice : " + "x" * 100)[:80]


async def test_a_name_that_slack_tells_is_one_short_line(here: Office) -> None:
    here.wire.answers["users.info"] = {"user": {"profile": {"display_name": "Al\nice\u0000 " + "y" * 100}}}
    here.wire.answers["conversations.info"] = {"channel": {"name": "gen\u0085eral" + "z" * 100}}
    await here.say("alice", GENERAL, f"{ME} hello")
    assert here.one(IncomingMessage).event.name == ("Al ice\ufffd " + "y" * 100)[:80]
    assert here.one(ConversationOpened).event.place == ("#gen eral" + "z" * 100)[:80]


async def test_what_slack_says_of_a_file_is_read_as_far_as_it_can_be_true(here: Office) -> None:
    odd = [
        {"id": "F1", "name": "a", "size": True, "mimetype": 3, "url_private": "x" * 2_001},
        {"id": "F" * 81, "name": "b", "size": -1, "mode": "ho\nsted", "url_private": ["x"]},
        {"id": "F3", "name": "c", "size": 1 << 60, "url_private": "u", "url_private_download": "d"},
        {"id": "F4", "name": "d", "size": 5, "filetype": "pdf", "file_access": "check_file_info"},
        {"id": "F5"},
    ]
    await here.put("alice", await here.dm("alice"), subtype="file_share", files=odd)
    assert here.one(IncomingMessage).event.files == (
        SharedFile(name="a", id="F1"),
        SharedFile(name="b", mode="ho sted"),
        SharedFile(name="c", id="F3", url="d"),
        SharedFile(name="d", id="F4", size=5, filetype="pdf", access="check_file_info"),
        SharedFile(name="a file", id="F5"),
    )


async def test_files_come_with_the_message_where_its_mention_was_faster(here: Office) -> None:
    said = {"channel": GENERAL, "user": "U0ALICE0001", "text": f"{ME} look", "ts": "1789999999.000001"}
    shared = {"subtype": "file_share", "channel_type": "channel", "files": [{"id": "F1", "name": "plan.pdf"}]}
    await here.event(event={**said, "type": "app_mention"})
    for _ in range(2):
        await here.event(event={**said, **shared, "type": "message"})
    assert here.one(IncomingMessage).event.files == ()
    assert here.one(OverheardMessage).event.files == (SharedFile(name="plan.pdf", id="F1"),)
    assert here.one(OverheardMessage).thread == here.one(IncomingMessage).thread


async def test_files_that_came_with_the_message_do_not_come_again(here: Office) -> None:
    said = {"channel": GENERAL, "user": "U0ALICE0001", "text": f"{ME} look", "ts": "1789999999.000001"}
    shared = {"subtype": "file_share", "channel_type": "channel", "files": [{"id": "F1", "name": "plan.pdf"}]}
    for _ in range(2):
        await here.event(event={**said, **shared, "type": "message"})
        await here.event(event={**said, "type": "app_mention"})
    assert here.one(IncomingMessage).event.files == (SharedFile(name="plan.pdf", id="F1"),)
    assert here.entries(OverheardMessage) == []


async def test_an_action_is_spoken_too(here: Office) -> None:
    await here.put("alice", await here.dm("alice"), text="waves", subtype="me_message")
    assert (here.one(IncomingMessage).event.address, here.one(IncomingMessage).event.text) == ("dm", "waves")


async def test_a_broadcast_follow_up_is_a_follow_up(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    await here.put("bob", GENERAL, text="all of you", thread_ts=root, subtype="thread_broadcast")
    assert [entry.event.address for entry in here.entries(IncomingMessage)] == ["mention", "follow-up"]


MESSAGE: dict[str, Any] = {"type": "message", "channel": "D1", "channel_type": "im", "user": ALICE.id}


UNREADABLE: tuple[object, ...] = (
    {**MESSAGE, "text": SECRET},
    {**MESSAGE, "text": SECRET, "ts": 12.5},
    {**MESSAGE, "text": SECRET, "ts": "999999999999.5"},
    {**MESSAGE, "text": SECRET, "ts": "soon"},
    {**MESSAGE, "text": SECRET, "ts": f"{'9' * 5_000}.1"},
    {**MESSAGE, "text": SECRET, "ts": "1.1", "user": "U" * 5_000},
    {**MESSAGE, "text": SECRET, "ts": "1.1\n"},
    {**MESSAGE, "text": SECRET, "ts": "\u0661.\u0661"},
    {**MESSAGE, "text": SECRET, "ts": "1.1", "channel": "D1:D2"},
    {**MESSAGE, "text": SECRET, "ts": "1.1", "channel": "D\ud800"},
    {**MESSAGE, "text": SECRET, "ts": "1.1", "user": "alice>"},
    {**MESSAGE, "text": SECRET, "ts": "1.1", "user": "\u0000"},
    {**MESSAGE, "text": SECRET, "ts": "1.1", "bot_id": "B 1"},
    {**MESSAGE, "text": SECRET, "ts": "1.1", "channel": None},
    {**MESSAGE, "text": SECRET, "ts": "1.1", "user": None},
    {**MESSAGE, "text": SECRET, "ts": "1.1", "user": {"id": ALICE.id}},
    {**MESSAGE, "text": [SECRET], "ts": "1.1"},
    {**MESSAGE, "text": SECRET, "ts": "1.1", "thread_ts": 1},
    {**MESSAGE, "subtype": "message_changed", "message": SECRET},
    {**MESSAGE, "subtype": "message_deleted", "previous_message": {"text": SECRET}},
    None,
    [SECRET],
    SECRET,
)


async def test_what_cannot_be_read_is_acked_and_warned_of_without_its_words(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    for event in UNREADABLE:
        caplog.clear()
        await here.event(event=event)
        assert here.taken() == [], event
        assert [record.levelno for record in caplog.records] == [logging.WARNING], event
        assert SECRET not in caplog.text


NOT_FOR_IT: tuple[object, ...] = (
    {**MESSAGE, "subtype": "channel_join", "ts": "1.1", "text": "joined"},
    {**MESSAGE, "subtype": ["odd"], "ts": "1.1"},
    {**MESSAGE, "subtype": "a_thing_of_tomorrow"},
    {"type": "reaction_added", "user": ALICE.id, "item": {"type": "message"}},
    {"type": "app_home_opened", "user": ALICE.id, "tab": "messages"},
    {"type": "tokens_revoked", "tokens": {}},
    {"type": "a_thing_of_tomorrow"},
    {},
)


async def test_what_is_not_for_the_soul_is_acked_in_silence(
    here: Office, caplog: pytest.LogCaptureFixture
) -> None:
    for event in NOT_FOR_IT:
        await here.event(event=event)
        assert here.taken() == [], event
        assert caplog.records == [], event


ENVELOPES: tuple[object, ...] = (
    {},
    [],
    None,
    "text",
    {"type": "app_rate_limited", "team_id": TEAM},
    {"type": "event_callback"},
    {"type": "event_callback", "event": None, "team_id": 7},
    {"type": "event_callback", "event": {"type": "app_mention", "team": 7}, "authorizations": 7},
    {"type": "block_actions", "user": 7, "team": 7, "channel": 7},
    {"type": "block_actions", "actions": [{"action_id": "x"}], "user": {"id": ALICE.id}},
    {"command": "/soul", "text": "status", "user_id": ALICE.id},
)


async def test_any_envelope_is_acked(here: Office) -> None:
    for payload in ENVELOPES:
        await here.event(payload=payload)
        assert here.taken() == [], payload
    assert await here.say("alice", await here.dm("alice"), "still there?")
    assert here.one(IncomingMessage)
