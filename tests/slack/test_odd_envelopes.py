"""Every type of envelope with parts missing, empty or mistyped: all acked."""

from __future__ import annotations

import copy
import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from daemon.slack.block_text import string_at
from rehearsal.people import ALICE, SOUL, TEAM
from tests.slack.office import GENERAL, ME, Office, until
from tests.slack.switchboard import ours
from tests.soak import later, shared

BITE = 40
"""Envelopes in flight."""
Path = tuple[str | int, ...]


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


ODD: tuple[Any, ...] = (None, True, 7, "", "text", "\ud800", [], {}, [None], [7], {"id": None}, nested(200))
"""Values in place of expected ones."""

EVENT = {
    "type": "event_callback",
    "team_id": TEAM,
    "api_app_id": SOUL.id,
    "event_id": "Ev1",
    "is_ext_shared_channel": True,
    "authorizations": [{"enterprise_id": None, "team_id": TEAM, "user_id": SOUL.user, "is_bot": True}],
}
SAID = {
    "type": "message",
    "channel": GENERAL,
    "channel_type": "channel",
    "user": ALICE.id,
    "event_ts": "9.000001",
}
EVENTS: tuple[dict[str, Any], ...] = (
    {
        **SAID,
        "text": f"{ME} hello",
        "ts": "9.000001",
        "thread_ts": "8.000001",
        "team": TEAM,
        "user_team": TEAM,
    },
    {**SAID, "type": "app_mention", "text": f"{ME} hello", "ts": "9.000002"},
    {**SAID, "subtype": "file_share", "text": ME, "ts": "9.000003", "files": [{"id": "F1", "name": "a.pdf"}]},
    {
        **SAID,
        "subtype": "bot_message",
        "bot_id": "B1",
        "username": "Pager",
        "bot_profile": {"name": "Pager"},
        "text": "",
        "ts": "9.000004",
        "attachments": [{"fallback": ME, "text": "disk"}],
    },
    {
        **SAID,
        "subtype": "message_changed",
        "ts": "9.000005",
        "message": {**SAID, "text": "b", "ts": "8.000005", "edited": {"user": ALICE.id, "ts": "9.000005"}},
        "previous_message": {**SAID, "text": "a", "ts": "8.000005"},
    },
    {
        **SAID,
        "subtype": "message_deleted",
        "ts": "9.000006",
        "deleted_ts": "8.000006",
        "previous_message": {**SAID, "text": "a", "ts": "8.000006"},
    },
    {
        "type": "reaction_added",
        "user": ALICE.id,
        "reaction": "octagonal_sign",
        "item": {"type": "message", "channel": GENERAL, "ts": "9.000001"},
        "event_ts": "9.000007",
    },
    {
        "type": "agent_session_stopped",
        "channel": GENERAL,
        "user": ALICE.id,
        "thread_ts": "9.000001",
        "event_ts": "9.000008",
    },
    {"type": "channel_shared", "channel": GENERAL, "connected_team_id": "T2", "event_ts": "9.000009"},
    {"type": "tokens_revoked", "tokens": {"bot": [SOUL.user]}, "event_ts": "9.000010"},
)
WHENCE = {
    "team": {"id": TEAM, "domain": "rehearsal"},
    "user": {"id": ALICE.id, "name": "alice", "team_id": TEAM},
    "enterprise": None,
    "is_enterprise_install": False,
    "response_url": "http://127.0.0.1/response",
    "trigger_id": "1.2",
}
VIEW = {"id": "V1", "type": "modal", "team_id": TEAM, "app_installed_team_id": TEAM, "state": {"values": {}}}
BUTTON = {
    "type": "button",
    "action_id": "answer:0",
    "action_ts": "9.000011",
    "text": {"type": "plain_text", "text": "Yes"},
    "value": json.dumps({"asked": "sess-00000000@1/ask#1", "value": "yes"}),
}
PAYLOADS: tuple[dict[str, Any], ...] = (
    *({**EVENT, "event": event} for event in EVENTS),
    {**WHENCE, "type": "block_actions", "channel": {"id": GENERAL, "name": "general"}, "actions": [BUTTON]},
    {**WHENCE, "type": "block_actions", "view": VIEW, "actions": [BUTTON], "message": {"ts": "9.000001"}},
    {
        **WHENCE,
        "type": "view_submission",
        "view": VIEW,
        "response_urls": [{"response_url": "http://127.0.0.1"}],
    },
    {**WHENCE, "type": "view_closed", "view": VIEW, "is_cleared": False},
    {**WHENCE, "type": "shortcut", "callback_id": "c"},
    {**WHENCE, "type": "message_action", "callback_id": "c", "message": {"ts": "9.000001", "user": ALICE.id}},
    {**WHENCE, "type": "block_suggestion", "action_id": "a", "value": "v"},
    {**WHENCE, "type": "interactive_message", "actions": [{"name": "a", "value": "b"}]},
    {"command": "/soul", "text": "status", "user_id": ALICE.id, "team_id": TEAM, "channel_id": GENERAL},
    {"type": "app_rate_limited", "team_id": TEAM, "minute_rate_limited": 9},
    {"type": "function_executed", "function_data": {"execution_id": "Fx1", "inputs": {}}, "token": "x"},
)


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path to every part."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield (*path, name)
        yield from places(part, (*path, name))


def variants(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield copies without each part, and with a few of ODD in its place, in rotation."""
    for number, path in enumerate(places(whole)):
        *way, last = path
        for n in (-1, 0, number % len(ODD), (number * 5 + 7) % len(ODD)):
            changed = copy.deepcopy(whole)
            inside: Any = changed
            for step in way:
                inside = inside[step]
            if n < 0:
                del inside[last]
            else:
                inside[last] = copy.deepcopy(ODD[n])
            yield changed


@pytest.mark.parametrize("whole", shared(PAYLOADS, 6), ids=lambda one: str(PAYLOADS.index(one)))
async def test_any_envelope_with_any_part_amiss_is_acked(
    here: Office, caplog: pytest.LogCaptureFixture, whole: dict[str, Any]
) -> None:
    courier, sent = here.world.workspace.courier, [whole, *variants(whole)]
    for begin in range(0, len(sent), BITE):
        for n, payload in enumerate(sent[begin : begin + BITE], begin):
            courier.post(SOUL.id, f"Ev{n}", payload)
        try:
            await here.acked()
        except TimeoutError:
            raise AssertionError([one["payload"] for one in here.unacked()][:3]) from None
    assert [record.getMessage() for record in caplog.records if record.levelno > logging.WARNING] == []


FRAME = {
    "type": "events_api",
    "envelope_id": "the-id",
    "payload": {**EVENT, "event": {**SAID, "text": "hello", "ts": "9.000001"}},
    "accepts_response_payload": False,
    "retry_attempt": 0,
    "retry_reason": "",
}


@pytest.mark.parametrize("name", ["type", "payload", "accepts_response_payload", "retry_attempt"])
async def test_a_frame_with_any_part_amiss_is_acked_if_only_it_has_an_id(name: str) -> None:
    async with ours() as end:
        await end.sockets.connect()
        for n, odd in enumerate(("gone", *ODD)):
            frame = {**FRAME, "envelope_id": f"id-{n}", name: odd}
            if odd == "gone":
                del frame[name]
            await end.board.frame(0, frame)
            await until(lambda id=f"id-{n}": id in [ack for _, ack in end.board.acks])  # type: ignore[misc]


@pytest.mark.parametrize("depth", [500, later(980), later(2_000), 100_000])
async def test_what_is_nested_too_deeply_is_acked_and_the_line_lives(
    depth: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with ours() as end:
        await end.sockets.connect()
        deep = "[" * depth + "]" * depth
        fake = json.dumps({"envelope_id": "not-this", "text": '"envelope_id": "nor-this" {['})
        await end.board.ends[0][0].send_str(
            f'{{"payload": [{fake}, {deep}, {fake}], "envelope_id": "deep", "type": "events_api"}}'
        )
        await until(lambda: "deep" in [ack for _, ack in end.board.acks])
        await end.board.ends[0][0].send_str(deep)
        await end.board.ends[0][0].send_str("{" * depth)
        await end.board.send(0, "still here")
        await until(lambda: end.heard == ["still here"])
    assert len(end.board.ends) == 1
    assert [record for record in caplog.records if record.levelno > logging.WARNING] == []


def test_a_frame_that_breaks_off_in_a_string_is_read_once() -> None:
    began = time.process_time()
    assert string_at('{"a": "' + '\\"' * 50_000, "envelope_id") == ""
    assert time.process_time() - began < 5
