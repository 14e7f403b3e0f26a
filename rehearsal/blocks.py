"""Block Kit as Slack checks it: size limits, and ids that it adds."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rehearsal.refusal import ApiError

Block = dict[str, Any]
BLOCKS_MOST, BUTTONS_MOST = 50, 25
ID_MOST, LABEL_MOST, VALUE_MOST = 255, 75, 2_000
SECTION_MOST, MARKDOWN_MOST, HEADER_MOST = 3_000, 12_000, 150
CONTEXT_MOST = 10
ROWS_MOST, COLUMNS_MOST = 100, 20
SEPARATOR = re.compile(r"[^\S\n]*\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?")
STYLES = (None, "primary", "danger")


def accepted(blocks: Sequence[Any]) -> list[Block]:
    """Return blocks with ids added. Raises ApiError as Slack does."""
    if len(blocks) > BLOCKS_MOST:
        raise _refused("no more than 50 items allowed")
    kept = [_block(block) for block in blocks]
    markdown = [str(one.get("text", "")) for one in kept if one["type"] == "markdown"]
    if len("".join(markdown)) > MARKDOWN_MOST:
        raise ApiError("msg_blocks_too_long")
    for text in markdown:
        check_tables(text)
    if sum(one["type"] == "table" for one in kept) > 1:
        raise ApiError(
            "invalid_attachments", response_metadata={"messages": ["[ERROR] only_one_table_allowed"]}
        )
    ids = [one["block_id"] for one in kept]
    if len(set(ids)) < len(ids):
        raise _refused("block_id already exists")
    return kept


def check_tables(markdown: str) -> None:
    """Raise invalid_blocks for a table over 100 rows or 20 columns."""
    rows = 0
    for line in markdown.split("\n"):
        if rows == 0 and not SEPARATOR.fullmatch(line):
            continue
        rows = rows + 1 if "|" in line else 0
        if rows > ROWS_MOST or line.strip().strip("|").count("|") >= COLUMNS_MOST:
            raise _refused("a table has up to 100 rows and 20 columns")


def buttons(message: Mapping[str, Any]) -> Iterator[tuple[Block, Block]]:
    """Yield buttons, each after its block."""
    for block in message.get("blocks", []):
        if block["type"] == "actions":
            for element in block["elements"]:
                if element["type"] == "button":
                    yield block, element


def _block(block: object) -> Block:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise _refused("a block needs a type")
    kept = {"block_id": _id(), **block}
    _limit("block_id", kept["block_id"], ID_MOST)
    if kept["type"] == "section" and isinstance(kept.get("text"), dict):
        _limit("text", kept["text"].get("text"), SECTION_MOST)
    if kept["type"] == "header":
        _check_header(kept.get("text"))
    if kept["type"] == "context":
        _check_context(kept.get("elements"))
    if kept["type"] == "actions":
        kept["elements"] = _elements(kept.get("elements"))
    return kept


def _check_header(text: object) -> None:
    if not isinstance(text, dict) or text.get("type") != "plain_text":
        raise _refused("a header's text is plain_text")
    _limit("text", text.get("text"), HEADER_MOST)


def _check_context(elements: object) -> None:
    if not isinstance(elements, list) or not 0 < len(elements) <= CONTEXT_MOST:
        raise _refused("elements: from 1 to 10 items")
    for element in elements:
        if not isinstance(element, dict):
            raise _refused("an element is an object")
        if element.get("type") in ("mrkdwn", "plain_text"):
            _limit("text", element.get("text"), SECTION_MOST)


def _elements(elements: object) -> list[Block]:
    if not isinstance(elements, list) or not 0 < len(elements) <= BUTTONS_MOST:
        raise _refused("elements: from 1 to 25 items")
    kept = [_element(element) for element in elements]
    if len({one["action_id"] for one in kept}) < len(kept):
        raise _refused("action_id already exists in this block")
    return kept


def _element(element: object) -> Block:
    if not isinstance(element, dict) or not isinstance(element.get("type"), str):
        raise _refused("an element needs a type")
    kept = {"action_id": _id(), **element}
    _limit("action_id", kept["action_id"], ID_MOST)
    if kept["type"] == "button":
        label = kept.get("text")
        if not isinstance(label, dict) or label.get("type") != "plain_text":
            raise _refused("a button's text is plain_text")
        kept["text"] = {"emoji": True, **label}
        _limit("text", label.get("text"), LABEL_MOST)
        _limit("value", kept.get("value", "-"), VALUE_MOST)
        if kept.get("style") not in STYLES:
            raise _refused("style is primary or danger")
    return kept


def _limit(name: str, text: object, most: int) -> None:
    if not isinstance(text, str) or not 0 < len(text) <= most:
        raise _refused(f"{name}: from 1 to {most} characters")


def _refused(why: str) -> ApiError:
    return ApiError("invalid_blocks", response_metadata={"messages": [f"[ERROR] {why}"]})


def _id() -> str:
    return secrets.token_urlsafe(4)
