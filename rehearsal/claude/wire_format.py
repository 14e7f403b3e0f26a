"""Answers as server-sent events or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.claude.prompt import tokens

Event = dict[str, Any]
REFUSED = {"type": "refusal", "category": "reasoning_extraction", "explanation": None}
THOUGHT: Event = {"type": "thinking", "thinking": "", "signature": "cmVoZWFyc2Vk"}
"""Omitted thinking with its signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTake:
    """Answer to play. `counted` is its prompt's usage."""

    id: str
    model: str
    text: str
    stop_reason: str
    stop_sequence: str
    thinks: bool
    counted: Mapping[str, int]

    @property
    def usage(self) -> dict[str, Any]:
        written = {"ephemeral_5m_input_tokens": self.counted["cache_creation_input_tokens"]}
        return {
            **self.counted,
            "cache_creation": {**written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": tokens(self.text),
            "service_tier": "standard",
        }


def message(take: AnswerTake) -> dict[str, Any]:
    content: list[Event] = []
    if take.thinks:
        content.append(THOUGHT)
    if take.text:
        content.append({"type": "text", "text": take.text})
    return {**_empty(take), "content": content, **_stop(take), "usage": take.usage}


def opening(take: AnswerTake) -> Iterator[Event]:
    yield {"type": "message_start", "message": {**_empty(take), "usage": {**take.usage, "output_tokens": 1}}}
    yield {"type": "ping"}
    if take.thinks:
        yield {"type": "content_block_start", "index": 0, "content_block": {**THOUGHT, "signature": ""}}
        signed = {"type": "signature_delta", "signature": THOUGHT["signature"]}
        yield {"type": "content_block_delta", "index": 0, "delta": signed}
        yield {"type": "content_block_stop", "index": 0}
    yield {
        "type": "content_block_start",
        "index": int(take.thinks),
        "content_block": {"type": "text", "text": ""},
    }


def delta(take: AnswerTake, text: str) -> Event:
    return {
        "type": "content_block_delta",
        "index": int(take.thinks),
        "delta": {"type": "text_delta", "text": text},
    }


def closing(take: AnswerTake) -> Iterator[Event]:
    yield {"type": "content_block_stop", "index": int(take.thinks)}
    yield {"type": "message_delta", "delta": _stop(take), "usage": take.usage}
    yield {"type": "message_stop"}


def error(kind: str, text: str, request_id: str) -> Event:
    return {"type": "error", "error": {"type": kind, "message": text}, "request_id": request_id}


def frame(event: Event) -> bytes:
    """Encode an event; lone surrogates are escaped."""
    data = json.dumps(event, ensure_ascii=False)
    return f"event: {event['type']}\ndata: {data}\n\n".encode(errors="backslashreplace")


def chunks(text: str, size: int | None) -> list[str]:
    """Split into `size` characters; None: about a token each."""
    if size is None:
        return re.findall(r"\s*\S{1,6}|\s+", text)
    return [text[i : i + size] for i in range(0, len(text), size)]


def _empty(take: AnswerTake) -> dict[str, Any]:
    return {
        "id": take.id,
        "type": "message",
        "role": "assistant",
        "model": take.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
    }


def _stop(take: AnswerTake) -> dict[str, Any]:
    return {
        "stop_reason": take.stop_reason,
        "stop_sequence": take.stop_sequence or None,
        "stop_details": REFUSED if take.stop_reason == "refusal" else None,
    }
