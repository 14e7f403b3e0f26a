"""A request's prompt as the row of blocks that Anthropic caches: tools, system, messages.

Read by cache.py (what was seen before) and rules.py (what the API refuses).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Body = Mapping[str, Any]
CHARACTERS = 3
"""Characters to a token, about."""
SETTINGS = ("thinking", "output_config", "tool_choice")
"""What is cached with the messages: another setting, and they are read anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One block of a prompt: what it says in every byte, its size, whether a breakpoint stands on it."""

    text: str
    tokens: int
    marked: bool


def tokens(text: str) -> int:
    """About as many tokens as Anthropic would count."""
    return len(text) // CHARACTERS + 1


def blocks(content: object) -> list[dict[str, Any]]:
    """A content as blocks: a plain string is one of text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def texts(content: object) -> list[str]:
    """The texts of a content's text blocks."""
    return [str(block.get("text", "")) for block in blocks(content) if block.get("type") == "text"]


def pieces(body: Body) -> list[Piece]:
    """The blocks in the order in which they are cached. An automatic breakpoint stands on the last."""
    row = list(_row(body))
    if body.get("cache_control") and row:
        last = row[-1]
        row[-1] = Piece(text=last.text, tokens=last.tokens, marked=True)
    return row


def _row(body: Body) -> Iterator[Piece]:
    for tool in body.get("tools") or ():
        yield _piece("tool", tool)
    for block in blocks(body.get("system")):
        yield _piece("system", block)
    settings = json.dumps({name: body.get(name) for name in SETTINGS}, sort_keys=True)
    for message in body["messages"]:
        for block in blocks(message["content"]):
            yield _piece(f"{settings} {message['role']}", block)


def _piece(kind: str, block: Mapping[str, Any]) -> Piece:
    said = {name: value for name, value in block.items() if name != "cache_control"}
    text = json.dumps(said, sort_keys=True, ensure_ascii=False)
    return Piece(
        text=f"{kind} {text}",
        tokens=tokens(str(block.get("text") or text)),
        marked=bool(block.get("cache_control")),
    )
