"""What a message says, read from a call's arguments: text, markdown or blocks, and metadata."""

from __future__ import annotations

from typing import Any

from daemon.rehearsal.api.call import Call
from daemon.rehearsal.blocks import accepted
from daemon.rehearsal.refusal import Refused

TEXT_MOST = 40_000
MARKDOWN_MOST = 12_000


def content(call: Call) -> dict[str, Any]:
    """The text (cut at 40,000) or the markdown (refused above 12,000), blocks and metadata of a message."""
    text, markdown = call.text("text"), call.text("markdown_text")
    blocks = call.value("blocks", list, "invalid_blocks")
    if markdown and (text or blocks):
        raise Refused("markdown_text_conflict")
    if not (text.strip() or markdown.strip() or blocks):
        raise Refused("no_text")
    found: dict[str, Any] = {"text": text[:TEXT_MOST] or checked(markdown)}
    if blocks:
        found["blocks"] = accepted(blocks)
    return found | metadata(call)


def metadata(call: Call) -> dict[str, Any]:
    """The message's metadata, if any is given."""
    given = call.value("metadata", dict, "invalid_metadata_format")
    if not given:
        return {}
    if not isinstance(given.get("event_type"), str) or not isinstance(given.get("event_payload"), dict):
        raise Refused("invalid_metadata_schema")
    return {"metadata": {"event_type": given["event_type"], "event_payload": given["event_payload"]}}


def checked(markdown: str) -> str:
    """The same, unless it is too long."""
    if len(markdown) > MARKDOWN_MOST:
        raise Refused("msg_too_long")
    return markdown
