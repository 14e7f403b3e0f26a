"""Safe reading of Slack's JSON, mrkdwn and blocks, by pure functions.

Names replace ids, and entities are decoded. Blocks of unknown types yield the texts in them; blocks without
text are counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from daemon.engine.event import storable_text

if TYPE_CHECKING:  # commands that only read a journal start without Slack's SDK
    from slack_sdk.web.async_slack_response import AsyncSlackResponse

ID = re.compile(r"[A-Z0-9]{1,50}")

TS = re.compile(r"[0-9]{1,11}\.[0-9]{1,20}")
"""Slack timestamp small enough for every date type."""

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""JSON string or bracket; because of `*+`, a broken string is read only once."""


class MalformedPayload(ValueError):
    """Event of a wrong form; the error names the field, never its content."""

    recorded_name = "Malformed"


def parse_json(text: object) -> object:
    if not isinstance(text, str):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def string_at(text: str, name: str) -> str:
    """Return a top-level string of JSON too deep to parse; empty if missing."""
    depth = 0
    last = ""
    for token in TOKEN.finditer(text):
        sign = token[0]
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        elif depth == 1 and last == f'"{name}"':
            return str(parse_json(sign) or "")
        last = sign
    return ""


def first_text(whole: object, *names: str) -> str:
    """Return the first non-empty string under these names, or ""."""
    if not isinstance(whole, Mapping):
        return ""
    for name in names:
        value = whole.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def count_at(value: object) -> int:
    """Return the value if it is a positive integer, else 0."""
    return value if type(value) is int and value > 0 else 0


def object_or_empty(whole: Mapping[str, Any] | AsyncSlackResponse, name: str) -> Mapping[str, Any]:
    value = whole.get(name)
    return value if isinstance(value, Mapping) else {}


def display_name(user: Mapping[str, Any]) -> str:
    """Return a user's chosen or account name, or ""."""
    return first_text(user.get("profile"), "display_name", "real_name") or first_text(user, "name")


def object_at(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the object under this name. Raises MalformedPayload."""
    value = event.get(name)
    if not isinstance(value, Mapping):
        raise MalformedPayload(f"no {name}")
    return value


def objects_at(event: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    items = event.get(name)
    if not isinstance(items, list):
        return []
    return [item for item in items if isinstance(item, Mapping)]


def _text(event: Mapping[str, Any], name: str) -> str:
    value = event.get(name)
    if not isinstance(value, str) or not value:
        raise MalformedPayload(f"no {name}")
    return value


def id_at(event: Mapping[str, Any], name: str) -> str:
    value = _text(event, name)
    if not ID.fullmatch(value):
        raise MalformedPayload(f"expected an id in the field {name}")
    return value


def timestamp_at(event: Mapping[str, Any], name: str) -> str:
    value = _text(event, name)
    if not TS.fullmatch(value):
        raise MalformedPayload(f"expected a ts in the field {name}")
    return value


SOMEONE, A_CHANNEL = "someone", "a channel"
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
NAME = 80
REFERENCE = re.compile(r"<([^<>\n]+)>")
MENTION = re.compile(r"<@([A-Z0-9]+)(?:\|[^<>]*)?>")

UNLABELLED = re.compile(r"<@([A-Z0-9]+)>")
"""Mention without a label, as Slack sends it."""

CHANNEL = re.compile(r"<#([A-Z0-9]+)\|?>")
"""Channel without a label, as Slack sends it."""


def clean_display_name(text: str) -> str:
    return CONTROL.sub(" ", storable_text(text))[:NAME].strip()


def mentioned_ids(text: str) -> frozenset[str]:
    return frozenset(MENTION.findall(text))


def strip_mention(text: str, person: str) -> str:
    return re.sub(rf"<@{re.escape(person)}(?:\|[^<>]*)?>", " ", text)


def ids_without_names(text: str) -> list[str]:
    """Return the ids in a text that have no label: people, then channels."""
    return list(dict.fromkeys(UNLABELLED.findall(text) + CHANNEL.findall(text)))


def spell_out_references(text: str, names: Mapping[str, str]) -> str:
    """Replace references by `names`, by their labels or by placeholders, and decode entities."""
    spelled = REFERENCE.sub(partial(_spelled, names), text)
    return spelled.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _spelled(names: Mapping[str, str], reference: re.Match[str]) -> str:
    target, _, label = reference[1].partition("|")
    match target[:1]:
        case "@":
            return f"@{names.get(target[1:]) or label or SOMEONE}"
        case "#":
            if label:
                return f"#{label}"
            return names.get(target[1:]) or A_CHANNEL
        case "!":
            return label or f"@{target[1:].partition('^')[0]}"
    if label and label not in target:
        return f"{label} ({target})"
    if target.startswith(("mailto:", "tel:")):
        return label
    return target


Node = Mapping[str, Any]
DEEPEST = 12
INDENT = "    "
QUOTED = "> "

TEXTUAL = frozenset(
    {"text", "title", "name", "label", "alt_text", "fallback", "pretext", "subtitle", "description"}
    | {"body", "content", "details", "output", "placeholder", "hint", "value", "markdown_text"}
)
"""Text fields of objects of unknown types."""

SYNTAX = re.compile(r"<(?:[@#!][A-Za-z0-9]|https?://|mailto:|tel:)[^<>\n]*>")
"""References and links that Slack resolves in Markdown, too."""

EMOJI_CODE = re.compile(r":[a-z0-9_+'-]+:(?::skin-tone-[2-6]:)?")
LABELLED = re.compile(r"<([@#!](?!date)[^<>|\n]*)\|[^<>\n]*>")
DATE = re.compile(r"<!date\^[^<>|\n]*\|([^<>\n]*)>")
ITEM = re.compile(r"\s*(?:[0-9]+\.|•)\s")
ADDRESS = re.compile(r"(?:https?://|mailto:|tel:)[^\s<>|()]*")

MARKS = (("code", "`"), ("strike", "~"), ("italic", "_"), ("bold", "*"))
"""Styles and their marks, innermost first."""

TEXTLESS = frozenset({"divider", "rich_text"})
"""Block types that may hold no text."""


def block_lines(blocks: Iterable[Node], depth: int = 0) -> list[str]:
    """Return the lines of blocks; a last line counts blocks without text."""
    lines: list[str] = []
    unread = 0
    for block in blocks:
        found = _lines(block, depth)
        lines += found
        unread += not found and first_text(block, "type") not in TEXTLESS
    if unread:
        lines.append(f"[{unread} more, without a text]")
    return lines


def escape_mrkdwn(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def quote_lines(lines: Iterable[str]) -> list[str]:
    """Mark each line as a quotation, so that none can pass for other text."""
    return [f"{QUOTED}{line}" for text in lines for line in text.split("\n")]


def format_time(seconds: object) -> str:
    """Format Unix seconds in UTC; "" if invalid."""
    try:
        return f"{datetime.fromtimestamp(float(str(seconds)), UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return ""


def is_repetition(lines: Iterable[str], text: str) -> bool:
    """True if the text contains these lines in order; marks, emojis and addresses do not matter."""
    within, position = _letters(text), 0
    for line in lines:
        letters = _letters(ITEM.sub("", line, count=1) if ITEM.match(line) else line)
        found = within.find(letters, position)
        if found < 0:
            return False
        position = found + len(letters)
    return True


def text_of_object(node: object) -> str:
    """Return a text object of Slack, or a plain string, as mrkdwn."""
    if isinstance(node, str):
        return escape_mrkdwn(node)
    if not isinstance(node, Mapping):
        return ""
    text = first_text(node, "text")
    if first_text(node, "type") == "mrkdwn":
        return text
    return escape_mrkdwn(text)


def _letters(text: str) -> str:
    text = ADDRESS.sub(" ", DATE.sub(r"\1", LABELLED.sub(r"<\1>", text)))
    return "".join(filter(str.isalnum, EMOJI_CODE.sub(" ", text).casefold()))


def _lines(node: Node, depth: int) -> list[str]:
    if depth > DEEPEST:
        return []
    kind = first_text(node, "type")
    if kind in BLOCKS:
        return [line for line in BLOCKS[kind](node, depth + 1) if line.strip()]
    if kind in INLINE:
        return [INLINE[kind](node)]
    return [line for line in _leaves(node, depth + 1) if line.strip()]


def _leaves(node: Node, depth: int) -> Iterator[str]:
    is_mrkdwn = first_text(node, "type") == "mrkdwn"
    for name, value in node.items():
        if isinstance(value, str) and name in TEXTUAL:
            yield value if is_mrkdwn else escape_mrkdwn(value)
        elif name == "value" and type(value) in (int, float):
            yield str(value)
        elif isinstance(value, Mapping):
            yield from _lines(value, depth)
        elif isinstance(value, list):
            yield from _listed(value, depth)


def _listed(values: Sequence[object], depth: int) -> Iterator[str]:
    if depth > DEEPEST:
        return
    for value in values:
        if isinstance(value, Mapping):
            yield from _lines(value, depth)
        elif isinstance(value, list):
            yield from _listed(value, depth + 1)


# Blocks


def _rich_text(block: Node, depth: int) -> list[str]:
    lines: list[str] = []
    for element in objects_at(block, "elements"):
        lines += _lines(element, depth)
    return lines


def _paragraph(section: Node, depth: int) -> list[str]:
    return [_inline(section, depth).strip("\n")]


def _list(block: Node, depth: int) -> list[str]:
    first = count_at(block.get("offset")) + 1
    indent = INDENT * min(count_at(block.get("indent")), DEEPEST)
    lines: list[str] = []
    for number, item in enumerate(objects_at(block, "elements"), first):
        mark = f"{number}." if first_text(block, "style") == "ordered" else "•"
        lines.append(f"{indent}{mark} {_inline(item, depth)}")
    return lines


def _quote(block: Node, depth: int) -> list[str]:
    return quote_lines(_paragraph(block, depth))


def _preformatted(block: Node, depth: int) -> list[str]:
    return [f"```\n{_inline(block, depth)}\n```"]


def _section(block: Node, depth: int) -> list[str]:
    lines = [text_of_object(block.get("text")), *map(text_of_object, objects_at(block, "fields"))]
    return lines + _lines(object_or_empty(block, "accessory"), depth)


def _titled(block: Node, depth: int) -> list[str]:
    return [text_of_object(block.get("text"))]


def _context(block: Node, depth: int) -> list[str]:
    texts = [" ".join(_lines(element, depth)) for element in objects_at(block, "elements")]
    return [" ".join(filter(None, texts))]


def _image(block: Node, depth: int) -> list[str]:
    about = text_of_object(block.get("title")) or escape_mrkdwn(first_text(block, "alt_text"))
    return [f"[image: {about}]" if about else "[image]"]


def _actions(block: Node, depth: int) -> list[str]:
    labels = [" ".join(_lines(element, depth)) for element in objects_at(block, "elements")]
    found = ", ".join(label.strip("[]").removeprefix("button: ") for label in labels if label)
    return [f"[buttons: {found}]" if found else ""]


def _button(element: Node, depth: int) -> list[str]:
    label = text_of_object(element.get("text"))
    return [f"[button: {label}]" if label else ""]


def _video(block: Node, depth: int) -> list[str]:
    title = text_of_object(block.get("title")) or escape_mrkdwn(first_text(block, "alt_text"))
    about = text_of_object(block.get("description"))
    return [f"[video: {title}]", about, escape_mrkdwn(first_text(block, "title_url"))]


def _markdown(block: Node, depth: int) -> list[str]:
    """Escape the text, except references and links of SYNTAX."""
    text, end, read = first_text(block, "text"), 0, ""
    for found in SYNTAX.finditer(text):
        read += escape_mrkdwn(text[end : found.start()]) + found[0]
        end = found.end()
    return [read + escape_mrkdwn(text[end:])]


def _table(block: Node, depth: int) -> list[str]:
    rows = block.get("rows")
    if not isinstance(rows, list):
        return [*_leaves(block, depth)]
    return ["[table]", *_leaves({**block, "rows": None, "type": None}, depth), *_rows(rows, depth)]


def _rows(rows: Iterable[object], depth: int) -> Iterator[str]:
    for row in rows:
        if isinstance(row, Mapping):
            row = row.get("cells", [row])
        if isinstance(row, list):
            yield " | ".join(_cell(cell, depth) for cell in row)


def _cell(cell: object, depth: int) -> str:
    if isinstance(cell, Mapping):
        return " ".join(" ".join(_lines(cell, depth)).split())
    return escape_mrkdwn(str(cell)) if isinstance(cell, str | int | float) else ""


BLOCKS: Mapping[str, Callable[[Node, int], list[str]]] = {
    "rich_text": _rich_text,
    "rich_text_section": _paragraph,
    "rich_text_list": _list,
    "rich_text_quote": _quote,
    "rich_text_preformatted": _preformatted,
    "section": _section,
    "header": _titled,
    "context": _context,
    "image": _image,
    "actions": _actions,
    "button": _button,
    "video": _video,
    "markdown": _markdown,
    "table": _table,
    "data_table": _table,
}


# Elements of rich text


def _inline(section: Node, depth: int) -> str:
    if first_text(section, "type") not in BLOCKS:
        return " ".join(_lines(section, depth))
    return "".join("".join(_lines(element, depth)) for element in objects_at(section, "elements"))


def _words(element: Node) -> str:
    return _styled(escape_mrkdwn(first_text(element, "text")), element)


def _link(element: Node) -> str:
    url, label = first_text(element, "url"), first_text(element, "text")
    if label and label != url:
        return _styled(f"<{escape_mrkdwn(url)}|{escape_mrkdwn(label)}>", element)
    return f"<{escape_mrkdwn(url)}>"


def _emoji(element: Node) -> str:
    tone = element.get("skin_tone")
    name = f":{escape_mrkdwn(first_text(element, 'name'))}:"
    if type(tone) is int:
        return f"{name}:skin-tone-{tone}:"
    return name


def _date(element: Node) -> str:
    return escape_mrkdwn(first_text(element, "fallback")) or format_time(element.get("timestamp"))


REFERENCES = {
    "user": ("@", "user_id"),
    "channel": ("#", "channel_id"),
    "usergroup": ("!subteam^", "usergroup_id"),
    "broadcast": ("!", "range"),
}


def _reference(element: Node) -> str:
    sign, name = REFERENCES[first_text(element, "type")]
    return f"<{sign}{escape_mrkdwn(first_text(element, name))}>"


INLINE: Mapping[str, Callable[[Node], str]] = {
    "text": _words,
    "link": _link,
    "emoji": _emoji,
    "date": _date,
    "user": _reference,
    "channel": _reference,
    "usergroup": _reference,
    "broadcast": _reference,
    "color": lambda element: escape_mrkdwn(first_text(element, "value")),
    "mrkdwn": text_of_object,
    "plain_text": text_of_object,
    "raw_text": text_of_object,
}


def _styled(text: str, element: Node) -> str:
    style = element.get("style")
    core = text.strip()
    if not isinstance(style, Mapping) or not core:
        return text
    marked = core
    for name, mark in MARKS:
        if style.get(name) is True:
            marked = f"{mark}{marked}{mark}"
    return text.replace(core, marked, 1)
