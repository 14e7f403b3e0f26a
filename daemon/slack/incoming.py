"""A Slack message, its edit or its deletion, or a reaction to one, read out of an event.

Pure; raises Malformed, nothing else.

Buttons under a message, and what comes when one is pressed. Pure; for the speaker and the inbox.

All that a Slack message shows, as mrkdwn: its text and blocks, what is attached, forwarded or previewed.

What somebody else wrote stands behind a line that names its origin, and each of its lines is marked. Pure.

What somebody, or a channel, is called, as an event tells it. Pure; raises Malformed, nothing else.
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
"""Types of events that tell of a person who has changed something about themselves."""


RENAMED = ("channel_name", "group_name")
"""Subtypes of the messages that tell of a channel that has another name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackProfile:
    """The name under this id since `at`; a person may have a `handle`, which is theirs alone."""

    id: str
    name: str
    handle: str
    at: Decimal


def profile_in_event(event: Mapping[str, Any]) -> SlackProfile | None:
    """The profile of which this event says that it has changed; None if it says nothing of the kind."""
    if event.get("type") in CHANGES:
        user = object_at(event, "user")
        return _profile(id_at(user, "id"), user, timestamp_at(event, "event_ts"))
    if event.get("subtype") in RENAMED and first_text(event, "name"):
        name, at = clean_display_name(f"#{first_text(event, 'name')}"), moment_of(timestamp_at(event, "ts"))
        return SlackProfile(id=id_at(event, "channel"), name=name, handle="", at=at)
    return None


def profile_of_author(message: Mapping[str, Any], user: str, ts: str) -> SlackProfile | None:
    """The profile that a message of this person's came with, if it did."""
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


Node = Mapping[str, Any]


MOST = 12_000
"""Characters of what a message shows besides its text."""


MOST_OF_A_PREVIEW = 1_000


DEEPEST = 3
"""Messages that are forwarded within each other, and read."""


PLACEHOLDERS = frozenset(
    {
        "[no preview available]",
        "This content can't be displayed.",
        "This message contains interactive elements.",
    }
)
"""What Slack writes where it has no text."""


CUT = "[… {left_out:,} more characters are left out]"


TOO_DEEP = "[a message that is forwarded within this one is left out]"


HALF = re.compile(r"(?:<[^<>\n]*|&[a-z]*)\Z")
"""A reference or an entity that is cut in two."""


FORWARDED, LINKED = "forwarded message", "message that is linked here"


PREVIEW = "[preview of a link, which nobody here wrote]"


SOMEBODY = "somebody"


A_DM, A_GROUP = "a direct message", "a group conversation"


PREVIEWED = ("from_url", "original_url", "app_unfurl_url")
"""Fields of an attachment that Slack, or an app, made of a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageContent:
    """`text` is what its author wrote, `rest` what they show with it; `previews` were made of their links.

    `files` are those of the message, and of what it forwards.
    """

    text: str
    rest: str
    previews: str
    files: Sequence[Node]

    @property
    def all_but_text(self) -> str:
        """All but the text."""
        return "\n".join(filter(None, (self.rest, self.previews)))


def read_content(message: Node) -> MessageContent:
    """The content of a message as events and conversations.replies hold it. Raises Malformed."""
    text = message.get("text") or ""
    if not isinstance(text, str):
        raise MalformedPayload("a text that is no text")
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
    """The text, and what the lines add to it; where both say the same, only one of them."""
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
    """True for a message of Slack's that stands in another one."""
    return attachment.get("is_share") is True or attachment.get("is_msg_unfurl") is True


def _is_preview(attachment: Node, is_app: bool) -> bool:
    """True for what was made of a link. People attach nothing else but blocks: a table."""
    if first_text(attachment, *PREVIEWED):
        return True
    return not is_app and not objects_at(attachment, "blocks")


def _attached(attachment: Node) -> list[str]:
    """What an app attached, as people see it; its `fallback` only where there is nothing else."""
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
    """Where an app has it from, and of when it is."""
    return ", ".join(filter(None, (first_text(attachment, "footer"), format_time(attachment.get("ts")))))


def _preview(attachment: Node, text: str) -> list[str]:
    """What a link leads to, without the link, which the person wrote."""
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
    """A message of somebody's that is shown here: who said it, where, when, and what."""
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
    """Who said it, by the id where there is one, so that a reader sees whom of two people of one name."""
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
    """The messages whose blocks a share holds."""
    found = [message.get("message") for message in objects_at(share, "message_blocks")]
    return [message for message in found if isinstance(message, Mapping)]


def _files_of(share: Node) -> list[Node]:
    """The files on a forwarded message itself."""
    found = objects_at(share, "files")
    for message in _messages(share):
        found += objects_at(message, "files")
    return found


def _forwarded_files(message: Node, depth: int = 1) -> list[Node]:
    """The files on what a message forwards, and on what that forwards."""
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


ACTION = "answer:"
"""What the action_ids of our buttons begin with."""


LABEL = 75
"""Characters that Slack takes on a button."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonClick:
    """Someone pressed a button at `ts`. `asked` is the key of the question that `value` answers."""

    channel: str
    user: str
    name: str
    ts: str
    label: str
    asked: str
    value: str


def make_button_block(choices: ButtonRow) -> dict[str, Any]:
    """The block of these buttons."""
    elements = [_button(choices.asked, n, choice) for n, choice in enumerate(choices.choices)]
    return {"type": "actions", "elements": elements}


def _button(asked: str, n: int, choice: Button) -> dict[str, Any]:
    button: dict[str, Any] = {
        "type": "button",
        "action_id": f"{ACTION}{n}",
        "text": {"type": "plain_text", "text": choice.label[:LABEL]},
        "value": json.dumps({"asked": asked, "value": choice.value}),
    }
    if choice.style:
        button["style"] = choice.style
    return button


def clicks_in(body: Mapping[str, Any]) -> Iterator[ButtonClick]:
    """The presses of our buttons in a block_actions payload; raises Malformed."""
    for action in body.get("actions", ()):
        if isinstance(action, Mapping) and first_text(action, "action_id").startswith(ACTION):
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
    """Which question is answered, and how."""
    match parse_json(value):
        case {"asked": str(asked), "value": str(answer)}:
            return storable_text(asked), storable_text(answer)
    raise MalformedPayload("a button without its question")


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


SOMEWHERE = "https://slack.com/"
"""Where a workspace is that does not say: Slack leads on from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BotIdentity:
    """The soul's own identity in Slack."""

    team: str
    user: str
    bot: str
    name: str
    url: str = SOMEWHERE
    """Where the workspace is: links to its messages begin so."""

    def is_own_message(self, user: object, bot: object) -> bool:
        """Is a message of this user, or of this bot, one of our own?"""
        return user == self.user or bool(self.bot and bot == self.bot)

    def is_mentioned_in(self, message: SlackMessage) -> bool:
        """Does it mention the soul?"""
        return message.called or self.user in message.mentions


STOP_EMOJIS = frozenset({"octagonal_sign", "stop_sign", "no_entry"})
"""Slack's names of emojis that mean nothing else. A raised hand may be a question, and a cross a no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSignal:
    """Someone wants the soul to stop, at `ts`. `root` is the thread, or `on` a message in it that `whose`
    wrote."""

    by: Literal["reaction", "button"]
    channel: str
    user: str
    ts: str
    root: str = ""
    on: str = ""
    whose: str = ""


def stop_of(event: Mapping[str, Any]) -> StopSignal | None:
    """The stop that an event is, if it is one; raises Malformed."""
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
