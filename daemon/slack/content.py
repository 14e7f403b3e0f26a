"""All that a Slack message shows, as mrkdwn: its text and blocks, what is attached, forwarded or previewed.

What somebody else wrote stands behind a line that names its origin, and each of its lines is marked. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.slack.block_text import block_lines, escape_mrkdwn, format_time, is_repetition, quote_lines
from daemon.slack.payload import MalformedPayload, first_text, objects_at

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
