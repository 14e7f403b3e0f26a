"""A Slack message, its edit or its deletion, or a reaction to one, read out of an event.

Pure; raises Malformed, nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from daemon.engine.writable import storable_text
from daemon.kinds import SharedFile
from daemon.slack.content import read_content
from daemon.slack.payload import MalformedPayload, first_text, id_at, object_at, object_or_empty, timestamp_at
from daemon.slack.profile import SlackProfile, profile_of_author
from daemon.slack.text import clean_display_name, mentioned_ids

KINDS = {"im": "dm", "mpim": "group", "channel": "channel", "group": "channel"}
"""Slack's channel_type, and our word for it; private channels are channels."""
SPOKEN = (None, "file_share", "thread_broadcast", "bot_message", "me_message")
"""Subtypes that someone said. All others (joins, topics, pins, …) are ignored on purpose."""
SLACKBOT = "USLACKBOT"
LONGEST_URL = 2_000
LONGEST_WORD = 80
GROWN = "grown"
"""The change of a bot's message of which an event tells: a stream that ended, or another text."""
GROWS, ENDED = ("in_progress",), ("completed", "complete")
"""Slack's words for the `streaming_state` of a message that grows, and of one that is whole."""
LARGEST = 1 << 50
"""More bytes than any file has: what says so does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackMessage:
    """What someone said, changed or took back.

    `kind` is dm, channel, group, or empty where the event does not say. `root` is the ts of the thread.
    `text` is what they wrote, `rest` what they show with it: a forwarded message, a table, a preview.
    `name` is what a bot calls itself, `profile` what a person is called then. `change` is empty, edited,
    deleted, or (a bot's) grown; `changed` the ts of that, `told` that of the event about an edit: edits of
    one second may have the same `changed`. `ended`: Slack says that it was a stream, and is whole.
    """

    channel: str
    kind: str
    ts: str
    root: str
    user: str
    bot: str
    name: str
    text: str
    files: tuple[SharedFile, ...]
    called: bool
    rest: str = ""
    profile: SlackProfile | None = None
    change: str = ""
    changed: str = ""
    told: str = ""
    ended: bool = False

    @property
    def whole_text(self) -> str:
        """All that it shows."""
        return "\n".join(filter(None, (self.text, self.rest)))

    @property
    def author(self) -> str:
        """The id that stands for whoever said it."""
        return self.user or self.bot

    @property
    def is_by_bot(self) -> bool:
        """Was it said by a program? Then an answer could begin a loop."""
        return bool(self.bot) or self.user == SLACKBOT

    @property
    def mentions(self) -> frozenset[str]:
        """Whom its author mentions."""
        return mentioned_ids(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackReaction:
    """Someone put an emoji on the message `on`, which `whose` wrote, or took it away."""

    channel: str
    user: str
    emoji: str
    on: str
    whose: str
    ts: str
    removed: bool


def message_in_event(event: Mapping[str, Any]) -> SlackMessage | None:
    """The message of an event; None when it holds none that the soul would ever notice."""
    if event.get("type") not in ("message", "app_mention"):
        return None
    match event.get("subtype"):
        case "message_changed":
            return _edit(event)
        case "message_deleted":
            return _deletion(event, object_at(event, "previous_message"), timestamp_at(event, "deleted_ts"))
        case subtype if subtype in SPOKEN:
            return _message_of_item(event, event)
    return None


def _message_of_item(
    event: Mapping[str, Any], message: Mapping[str, Any], change: str = "", changed: str = ""
) -> SlackMessage:
    """A message that stands in an event."""
    channel = id_at(event, "channel")
    return message_from_item(message, channel=channel, kind=_kind(event), change=change, changed=changed)


def message_from_item(
    message: Mapping[str, Any], *, channel: str, kind: str, change: str = "", changed: str = ""
) -> SlackMessage:
    """A message as events and conversations.replies hold it."""
    user = _who(message, "user")
    bot = _who(message, "bot_id")
    if not (user or bot):
        raise MalformedPayload("a message without a user")
    ts = timestamp_at(message, "ts")
    root = ts
    if message.get("thread_ts"):
        root = timestamp_at(message, "thread_ts")
    content = read_content(message)
    profile = None if bot else profile_of_author(message, user, ts)
    return SlackMessage(
        channel=channel,
        kind=kind,
        ts=ts,
        root=root,
        user=user,
        bot=bot,
        name=clean_display_name(
            first_text(message, "username") or first_text(message.get("bot_profile"), "name")
        ),
        text=storable_text(content.text),
        rest=storable_text(content.all_but_text),
        profile=profile,
        files=tuple(map(parse_shared_file, content.files)),
        called=message.get("type") == "app_mention",
        change=change,
        changed=changed,
        ended=first_text(message, "streaming_state") in ENDED,
    )


def _who(message: Mapping[str, Any], name: str) -> str:
    """The id under this name; empty where there is none."""
    if not message.get(name):
        return ""
    return id_at(message, name)


def parse_shared_file(file: Mapping[str, Any]) -> SharedFile:
    """A file as messages and files.info hold it. What has no name (it was deleted, say) is called a file."""
    size = file.get("size")
    if type(size) is not int or not 0 <= size < LARGEST:
        size = None
    url = first_text(file, "url_private_download", "url_private")
    if len(url) > LONGEST_URL:
        url = ""
    return SharedFile(
        name=storable_text(first_text(file, "name") or "a file"),
        id=_short(first_text(file, "id")),
        mimetype=_short(first_text(file, "mimetype")),
        filetype=_short(first_text(file, "filetype")),
        size=size,
        url=storable_text(url),
        mode=_short(first_text(file, "mode")),
        access=_short(first_text(file, "file_access")),
    )


def _short(word: str) -> str:
    """A word of Slack's; nothing where it cannot be one."""
    if len(word) > LONGEST_WORD:
        return ""
    return clean_display_name(word)


def _edit(event: Mapping[str, Any]) -> SlackMessage | None:
    """A change of words by a person, or any of a bot's message; what unfurls is no news."""
    new = object_at(event, "message")
    old = object_or_empty(event, "previous_message")
    if new.get("subtype") == "tombstone":
        return _deletion(event, old or new, timestamp_at(new, "ts"))
    if new.get("bot_id"):
        return _dated(event, _message_of_item(event, new, GROWN, timestamp_at(new, "ts")))
    edited = object_or_empty(new, "edited")
    if not edited:
        return None
    if old and _shown(old) == _shown(new):
        return None
    return _dated(event, _message_of_item(event, new, "edited", timestamp_at(edited, "ts")))


def _dated(event: Mapping[str, Any], change: SlackMessage) -> SlackMessage:
    """The change, with the ts of the event that tells of it."""
    if not event.get("event_ts"):
        return change
    return replace(change, told=timestamp_at(event, "event_ts"))


def _deletion(event: Mapping[str, Any], old: Mapping[str, Any], ts: str) -> SlackMessage:
    """Somebody took something back: who and where, not what."""
    gone = {"ts": ts, **{name: old.get(name) for name in ("user", "bot_id", "thread_ts")}}
    when = "event_ts" if event.get("event_ts") else "ts"
    return _message_of_item(event, gone, "deleted", timestamp_at(event, when))


def _kind(event: Mapping[str, Any]) -> str:
    """An app_mention has no channel_type; only a DM can be told by its id."""
    kind = KINDS.get(first_text(event, "channel_type"), "")
    if not kind and id_at(event, "channel").startswith("D"):
        return "dm"
    return kind


def _shown(message: Mapping[str, Any]) -> tuple[str, str]:
    """What people see of a message, but for the previews of its links."""
    content = read_content(message)
    return content.text, content.rest


def reaction_in_event(event: Mapping[str, Any]) -> SlackReaction | None:
    """The reaction that an event is, if it is one to a message; raises Malformed."""
    if event.get("type") not in ("reaction_added", "reaction_removed"):
        return None
    item, emoji = object_at(event, "item"), clean_display_name(first_text(event, "reaction"))
    if item.get("type") != "message" or not emoji:
        return None
    return SlackReaction(
        channel=id_at(item, "channel"),
        user=id_at(event, "user"),
        emoji=emoji,
        on=timestamp_at(item, "ts"),
        whose=first_text(event, "item_user"),
        ts=timestamp_at(event, "event_ts"),
        removed=event.get("type") == "reaction_removed",
    )
