"""Slack events as messages, changes, reactions, profiles, clicks and stops. The functions are pure, and raise
only MalformedPayload.

Forwarded and previewed content in a message follows a line with its origin, and each of its lines is marked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

from daemon.engine.event import storable_text
from daemon.kinds import SharedFile, moment_of
from daemon.ports import Button, ButtonRow
from daemon.slack.block_text import (
    MalformedPayload,
    Node,
    block_lines,
    clean_display_name,
    display_name,
    escape_mrkdwn,
    first_text,
    format_time,
    id_at,
    is_repetition,
    mentioned_ids,
    object_at,
    object_or_empty,
    objects_at,
    parse_json,
    quote_lines,
    timestamp_at,
)

CHANGES = ("user_change", "user_profile_changed")
RENAMED = ("channel_name", "group_name")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackProfile:
    """Name that an id has since `at`; a person's `handle` is unique."""

    id: str
    name: str
    handle: str
    at: Decimal


def profile_in_event(event: Mapping[str, Any]) -> SlackProfile | None:
    if event.get("type") in CHANGES:
        user = object_at(event, "user")
        return _profile(id_at(user, "id"), user, timestamp_at(event, "event_ts"))
    if event.get("subtype") in RENAMED and first_text(event, "name"):
        name, at = clean_display_name(f"#{first_text(event, 'name')}"), moment_of(timestamp_at(event, "ts"))
        return SlackProfile(id=id_at(event, "channel"), name=name, handle="", at=at)
    return None


def profile_of_author(message: Mapping[str, Any], user: str, ts: str) -> SlackProfile | None:
    described = object_or_empty(message, "user_profile")
    if not user or not described:
        return None
    return _profile(user, {"profile": described, "name": described.get("name")}, ts)


def _profile(id: str, user: Mapping[str, Any], ts: str) -> SlackProfile | None:
    name = clean_display_name(display_name(user))
    if not name:
        return None
    return SlackProfile(
        id=id, name=name, handle=clean_display_name(first_text(user, "name")), at=moment_of(ts)
    )


MOST = 12_000
"""Most characters of the content besides a message's text."""

MOST_OF_A_PREVIEW = 1_000

DEEPEST = 3
"""Most levels of messages forwarded within forwarded messages that are read."""

PLACEHOLDERS = frozenset(
    {
        "[no preview available]",
        "This content can't be displayed.",
        "This message contains interactive elements.",
    }
)
"""Slack's placeholders for missing text."""

CUT = "[… {left_out:,} more characters are left out]"
TOO_DEEP = "[a message that is forwarded within this one is left out]"

HALF = re.compile(r"(?:<[^<>\n]*|&[a-z]*)\Z")
"""Reference or entity cut off by the end of a text."""

FORWARDED, LINKED = "forwarded message", "message that is linked here"
PREVIEW = "[preview of a link, which nobody here wrote]"
SOMEBODY = "somebody"
A_DM, A_GROUP = "a direct message", "a group conversation"
PREVIEWED = ("from_url", "original_url", "app_unfurl_url")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageContent:
    """Content of a message: the author's `text`, the `rest` shown with it, and `previews` of links.

    `files` include forwarded ones.
    """

    text: str
    rest: str
    previews: str
    files: Sequence[Node]

    @property
    def all_but_text(self) -> str:
        return "\n".join(filter(None, (self.rest, self.previews)))


def read_content(message: Node) -> MessageContent:
    text = message.get("text") or ""
    if not isinstance(text, str):
        raise MalformedPayload("expected a string in the field text")
    is_app = bool(message.get("bot_id")) or first_text(message, "subtype") == "bot_message"
    written = [*block_lines(objects_at(message, "blocks"))]
    rest: list[str] = []
    previews: list[str] = []
    for attachment in objects_at(message, "attachments"):
        if _is_shared(attachment):
            rest += _shared(attachment, 1)
        elif _is_preview(attachment, is_app):
            previews += _preview(attachment, text)
        elif is_app:
            written += _attached(attachment)
        else:
            rest += _attached(attachment)
    if text in PLACEHOLDERS and (written or rest):
        text = ""
    return MessageContent(
        text=_joined(text, written, prefers_lines=is_app),
        rest=_bounded("\n".join(rest), MOST),
        previews=_bounded("\n".join(previews), MOST),
        files=_each_once([*objects_at(message, "files"), *_forwarded_files(message)]),
    )


def _joined(text: str, lines: Sequence[str], *, prefers_lines: bool) -> str:
    if not lines:
        return text
    shown = _bounded("\n".join(lines), MOST)
    adds_nothing = is_repetition(lines, text)
    if adds_nothing and not prefers_lines:
        return text
    if is_repetition(text.split("\n"), "\n".join(lines)):
        return shown
    if adds_nothing:
        return text
    return f"{text}\n{shown}"


def _bounded(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    kept = HALF.sub("", text[:most])
    return f"{kept}\n{CUT.format(left_out=len(text) - len(kept))}"


# Attachments


def _is_shared(attachment: Node) -> bool:
    return attachment.get("is_share") is True or attachment.get("is_msg_unfurl") is True


def _is_preview(attachment: Node, is_app: bool) -> bool:
    """True for a link preview. People attach only previews, and blocks such as tables."""
    if first_text(attachment, *PREVIEWED):
        return True
    return not is_app and not objects_at(attachment, "blocks")


def _attached(attachment: Node) -> list[str]:
    lines = [
        first_text(attachment, "pretext"),
        escape_mrkdwn(first_text(attachment, "author_name")),
        _title(attachment),
        first_text(attachment, "text"),
        *map(_field, objects_at(attachment, "fields")),
        *block_lines(objects_at(attachment, "blocks")),
        *_pictures(attachment),
        *_labels(attachment),
        _origin(attachment),
    ]
    lines = [line for line in lines if line.strip() and line not in PLACEHOLDERS]
    fallback = first_text(attachment, "fallback")
    if not lines and fallback and fallback not in PLACEHOLDERS:
        lines.append(fallback)
    return lines


def _title(attachment: Node) -> str:
    title, link = first_text(attachment, "title"), first_text(attachment, "title_link")
    if title and link:
        return f"{title} (<{escape_mrkdwn(link)}>)"
    return title


def _field(field: Node) -> str:
    return ": ".join(filter(None, (first_text(field, "title"), first_text(field, "value"))))


def _pictures(attachment: Node) -> list[str]:
    if first_text(attachment, "image_url", "thumb_url"):
        return ["[image]"]
    return []


def _labels(attachment: Node) -> list[str]:
    labels = [
        escape_mrkdwn(first_text(action, "text", "name")) for action in objects_at(attachment, "actions")
    ]
    return [f"[buttons: {', '.join(labels)}]"] if any(labels) else []


def _origin(attachment: Node) -> str:
    return ", ".join(filter(None, (first_text(attachment, "footer"), format_time(attachment.get("ts")))))


def _preview(attachment: Node, text: str) -> list[str]:
    lines = [
        escape_mrkdwn(first_text(attachment, "service_name")),
        first_text(attachment, "title"),
        first_text(attachment, "text"),
        *map(_field, objects_at(attachment, "fields")),
        *block_lines(objects_at(attachment, "blocks")),
    ]
    lines = [line for line in lines if line.strip()]
    fallback = first_text(attachment, "fallback")
    if not lines and fallback not in PLACEHOLDERS and not is_repetition([fallback], text):
        lines.append(fallback)
    if not lines:
        return []
    return [PREVIEW, *quote_lines([_bounded("\n".join(lines), MOST_OF_A_PREVIEW)])]


# Forwarded messages


def _shared(share: Node, depth: int) -> list[str]:
    kind = FORWARDED if share.get("is_share") is True else LINKED
    when = format_time(share.get("ts"))
    head = " ".join(filter(None, (kind, f"from {_author(share)}", _where(share))))
    return [f"[{', '.join(filter(None, (head, when)))}]", *quote_lines(_said(share, depth))]


def _said(share: Node, depth: int) -> list[str]:
    written = block_lines(objects_at(share, "blocks"))
    for message in _messages(share):
        written += block_lines(objects_at(message, "blocks"))
    text = first_text(share, "text")
    lines = [_title(share), _joined(text, written, prefers_lines=not text)]
    for message in (share, *_messages(share)):
        for attachment in objects_at(message, "attachments"):
            if _is_shared(attachment) and depth >= DEEPEST:
                lines.append(TOO_DEEP)
            elif _is_shared(attachment):
                lines += _shared(attachment, depth + 1)
            elif _is_preview(attachment, is_app=True):
                lines += _preview(attachment, text)
            else:
                lines += _attached(attachment)
    lines += [
        f"[file: {escape_mrkdwn(first_text(file, 'name', 'title') or 'a file')}]" for file in _files_of(share)
    ]
    lines = [line for line in lines if line.strip() and line not in PLACEHOLDERS]
    fallback = first_text(share, "fallback")
    if not lines and fallback and fallback not in PLACEHOLDERS:
        lines.append(fallback)
    return lines


def _author(share: Node) -> str:
    id = first_text(share, "author_id", "bot_id")
    name = first_text(share, "author_name", "author_subname", "username")
    label = "".join(escape_mrkdwn(name).split("|"))
    if id.isalnum() and id.isupper():
        return f"<@{id}|{label or SOMEBODY}>"
    return label or SOMEBODY


def _where(share: Node) -> str:
    name, id = first_text(share, "channel_name").lstrip("#"), first_text(share, "channel_id")
    if id.startswith("D"):
        return f"in {A_DM}"
    if name.startswith("mpdm-"):
        return f"in {A_GROUP}"
    if name:
        return f"in #{escape_mrkdwn(name)}"
    footer = first_text(share, "footer")
    return f"({escape_mrkdwn(footer)})" if footer else ""


def _messages(share: Node) -> list[Node]:
    found = [message.get("message") for message in objects_at(share, "message_blocks")]
    return [message for message in found if isinstance(message, Mapping)]


def _files_of(share: Node) -> list[Node]:
    found = objects_at(share, "files")
    for message in _messages(share):
        found += objects_at(message, "files")
    return found


def _forwarded_files(message: Node, depth: int = 1) -> list[Node]:
    found: list[Node] = []
    for share in filter(_is_shared, objects_at(message, "attachments")):
        found += _files_of(share)
        if depth < DEEPEST:
            found += _forwarded_files(share, depth + 1)
    return found


def _each_once(files: Iterable[Node]) -> list[Node]:
    known: dict[object, Node] = {}
    for number, file in enumerate(files):
        known.setdefault(first_text(file, "id") or number, file)
    return list(known.values())


ACTION_PREFIX = "answer:"
"""Prefix of our buttons' action_ids."""

LABEL_MOST = 75
"""Most characters that Slack allows on a button."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonClick:
    """Press of a button at `ts`; `value` answers the question with key `asked`."""

    channel: str
    user: str
    name: str
    ts: str
    label: str
    asked: str
    value: str


def make_button_block(choices: ButtonRow) -> dict[str, Any]:
    elements = [_button(choices.asked, n, choice) for n, choice in enumerate(choices.choices)]
    return {"type": "actions", "elements": elements}


def _button(asked: str, n: int, choice: Button) -> dict[str, Any]:
    button: dict[str, Any] = {
        "type": "button",
        "action_id": f"{ACTION_PREFIX}{n}",
        "text": {"type": "plain_text", "text": choice.label[:LABEL_MOST]},
        "value": json.dumps({"asked": asked, "value": choice.value}),
    }
    if choice.style:
        button["style"] = choice.style
    return button


def clicks_in(body: Mapping[str, Any]) -> Iterator[ButtonClick]:
    for action in body.get("actions", ()):
        if isinstance(action, Mapping) and first_text(action, "action_id").startswith(ACTION_PREFIX):
            yield _press(body, action)


def _press(body: Mapping[str, Any], action: Mapping[str, Any]) -> ButtonClick:
    user, text = object_at(body, "user"), action.get("text")
    asked, value = _answer(action.get("value"))
    return ButtonClick(
        channel=id_at(object_at(body, "channel"), "id"),
        user=id_at(user, "id"),
        name=clean_display_name(first_text(user, "name", "username")),
        ts=timestamp_at(action, "action_ts"),
        label=clean_display_name(first_text(text, "text")),
        asked=asked,
        value=value,
    )


def _answer(value: object) -> tuple[str, str]:
    match parse_json(value):
        case {"asked": str(asked), "value": str(answer)}:
            return storable_text(asked), storable_text(answer)
    raise MalformedPayload("a button without its question")


KINDS = {"im": "dm", "mpim": "group", "channel": "channel", "group": "channel"}
"""Kind of conversation by Slack's channel_type; private channels are channels."""

SPOKEN = (None, "file_share", "thread_broadcast", "bot_message", "me_message")
"""Subtypes of messages that someone wrote; joins and the like are ignored."""

SLACKBOT = "USLACKBOT"
LONGEST_URL = 2_000
LONGEST_WORD = 80

GROWN = "grown"
"""Change of a bot's message: new text, or the end of a stream."""

GROWS, ENDED = ("in_progress",), ("completed", "complete")
"""Values of `streaming_state` for a growing and a complete stream."""

LARGEST = 1 << 50
"""Bytes from which a stated size is ignored: no file is that large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackMessage:
    """Message, edit or deletion.

    `kind` is dm, channel, group, or empty if not stated; `root` is the thread's ts. `rest` is content besides
    the text. Bots have a `name`, people a `profile`. `called` marks an app_mention event. `change` is empty,
    edited, deleted, or (bots) grown; `changed` is its ts. `told` is the ts of the event, since edits of one
    second may share `changed`. `ended` marks a complete stream.
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
        return "\n".join(filter(None, (self.text, self.rest)))

    @property
    def author(self) -> str:
        return self.user or self.bot

    @property
    def is_by_bot(self) -> bool:
        """True if a program wrote the message: an answer could start a loop."""
        return bool(self.bot) or self.user == SLACKBOT

    @property
    def mentions(self) -> frozenset[str]:
        return mentioned_ids(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackReaction:
    """Emoji added to or removed from the message with ts `on`, which the user `whose` wrote."""

    channel: str
    user: str
    emoji: str
    on: str
    whose: str
    ts: str
    removed: bool


def message_in_event(event: Mapping[str, Any]) -> SlackMessage | None:
    """Return the message in an event; None if there is none."""
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
    channel = id_at(event, "channel")
    return message_from_item(message, channel=channel, kind=_kind(event), change=change, changed=changed)


def message_from_item(
    message: Mapping[str, Any], *, channel: str, kind: str, change: str = "", changed: str = ""
) -> SlackMessage:
    """Parse a message object. Raises MalformedPayload."""
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
    if not message.get(name):
        return ""
    return id_at(message, name)


def parse_shared_file(file: Mapping[str, Any]) -> SharedFile:
    """Parse a file object; deleted files have no name and become "a file"."""
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
    if len(word) > LONGEST_WORD:
        return ""
    return clean_display_name(word)


def _edit(event: Mapping[str, Any]) -> SlackMessage | None:
    """Return a person's edit or a bot's change; None if only a preview was added."""
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
    if not event.get("event_ts"):
        return change
    return replace(change, told=timestamp_at(event, "event_ts"))


def _deletion(event: Mapping[str, Any], old: Mapping[str, Any], ts: str) -> SlackMessage:
    """Return a deletion, with only the author and place of the message."""
    gone = {"ts": ts, **{name: old.get(name) for name in ("user", "bot_id", "thread_ts")}}
    when = "event_ts" if event.get("event_ts") else "ts"
    return _message_of_item(event, gone, "deleted", timestamp_at(event, when))


def _kind(event: Mapping[str, Any]) -> str:
    kind = KINDS.get(first_text(event, "channel_type"), "")
    if not kind and id_at(event, "channel").startswith("D"):
        return "dm"
    return kind


def _shown(message: Mapping[str, Any]) -> tuple[str, str]:
    content = read_content(message)
    return content.text, content.rest


def reaction_in_event(event: Mapping[str, Any]) -> SlackReaction | None:
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


SOMEWHERE = "https://slack.com/"
"""Default workspace URL, from which Slack redirects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BotIdentity:
    team: str
    user: str
    bot: str
    name: str
    url: str = SOMEWHERE
    """Prefix of links to messages."""

    def is_own_message(self, user: object, bot: object) -> bool:
        return user == self.user or bool(self.bot and bot == self.bot)

    def is_mentioned_in(self, message: SlackMessage) -> bool:
        return message.called or self.user in message.mentions


STOP_EMOJIS = frozenset({"octagonal_sign", "stop_sign", "no_entry"})
"""Emojis that only mean stop: a raised hand may be a question, a cross a no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSignal:
    """Request to stop the thread `root`, or the thread of the message with ts `on` by `whose`."""

    by: Literal["reaction", "button"]
    channel: str
    user: str
    ts: str
    root: str = ""
    on: str = ""
    whose: str = ""


def stop_in_event(event: Mapping[str, Any]) -> StopSignal | None:
    if event.get("type") == "agent_session_stopped":
        return StopSignal(
            by="button",
            channel=id_at(event, "channel"),
            user=id_at(event, "user"),
            ts=timestamp_at(event, "event_ts"),
            root=timestamp_at(event, "thread_ts"),
        )
    if first_text(event, "reaction").partition("::")[0] not in STOP_EMOJIS:
        return None
    one = reaction_in_event(event)
    if one is None or one.removed:
        return None
    return StopSignal(
        by="reaction", channel=one.channel, user=one.user, ts=one.ts, on=one.on, whose=one.whose
    )
