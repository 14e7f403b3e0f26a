"""Where the soul says something to a person unasked: in their DM, in no thread of it. For the speaker.

There is no message to name such a conversation after, so its `ts` is empty; there is one for each DM. What
the person answers below such a message begins a conversation of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import ClientPayloadError

from daemon.journal.journal import Journal
from daemon.ports import Hold
from daemon.slack.people import DM
from daemon.slack.place import thread_key
from daemon.slack.web import NOT_SLACK, Web


async def opened(web: Web, journal: Journal, team: str, person: str, hold: Hold) -> str:
    """The thread of what is said to them unasked. Raises SlackApiError and OUT_OF_REACH."""
    known = _known(journal, team, person)
    channel = known.get("channel") or await _open(web, person, hold)
    body = {
        "team": team,
        "channel": channel,
        "ts": "",
        "kind": "dm",
        "place": DM,
        "audience": known.get("audience", ""),
        "user": person,
        "called_by": "",
    }
    entry, _ = await journal.thread(thread_key(team, channel, ""), body)
    return entry.thread


def _known(journal: Journal, team: str, person: str) -> Mapping[str, Any]:
    """The DM with them in which something was said already, and who can read it, as was noted last."""
    threads = [entry.body for entry in journal.kind("thread") if entry.body["team"] == team]
    dms = [body for body in threads if body.get("kind") == "dm" and body.get("user") == person]
    if not dms:
        return {}
    noted = [entry.body for entry in journal.kind("audience") if entry.body["channel"] == dms[-1]["channel"]]
    return {**dms[-1], "audience": noted[-1]["audience"]} if noted else dms[-1]


async def _open(web: Web, person: str, hold: Hold) -> str:
    answer = await web.call(hold, web.client.conversations_open, users=person)
    channel = answer.get("channel")
    if not isinstance(channel, Mapping) or not channel.get("id"):
        raise ClientPayloadError(NOT_SLACK)
    return str(channel["id"])
