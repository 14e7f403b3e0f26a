"""Probes: short calls that find out a model's capabilities on its server."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from daemon.claude.requests import Schema, estimate_tokens
from daemon.model import ModelReply

Ask = Callable[[str, Mapping[str, Any], Schema | None], Awaitable[ModelReply]]


Found = Mapping[str, Any]


QUESTIONS = ("schema", "sections", "images", "speed")
"""Probes in order: speed is last, because the first call may load the model."""


TEXTS = {question: f"prompts/look_up/{question}" for question in QUESTIONS}


MOST_TOKENS = 300


COUNTED_TOKENS = 60


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["colour"],
    "properties": {"colour": {"type": "string", "enum": ["blue", "green"]}},
}


SECTIONS = re.compile(r"\s*<aside-q4>([^<>]+)</aside-q4>\s*<say-q4>([^<>]+)</say-q4>\s*")
"""Pattern of the answer expected to the probe of sections."""


EXAMPLE = "open until six"
"""Text of the prompt's example; an answer that contains it is a copy."""


THOUGHT = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


YELLOW = "yellow"


PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKUlEQVR42u3NMQ0AAAgDsPkXiB2mgoOkSf9mJ6ciEAgEAoFAIBAI"
    "vgQF4t1Uam93LHQAAAAASUVORK5CYII="
)
"""Yellow square as a PNG in Base64."""


REFUSALS = frozenset({"bad-request", "too-long"})
"""Words of ModelReply.failure that blame the request, not the network."""


async def ask_probe(question: str, model: str, text: str, ask: Ask) -> Found | None:
    """Ask one of QUESTIONS about a model; return the capabilities found, None if unclear."""
    match question:
        case "schema":
            return await _probe_schema(model, text, ask)
        case "sections":
            return _judge_sections(await ask(question, _request(model, text), None))
        case "images":
            return _judge_images(await ask(question, _request(model, text, _picture()), None))
    return _measure_speed(await ask(question, _request(model, text, most=COUNTED_TOKENS), None), text)


def _request(model: str, text: str, *before: Mapping[str, Any], most: int = MOST_TOKENS) -> dict[str, Any]:
    content = [*before, {"type": "text", "text": text.strip()}]
    return {"model": model, "max_tokens": most, "messages": [{"role": "user", "content": content}]}


def _picture() -> Mapping[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    return {"type": "image", "source": source}


async def _probe_schema(model: str, text: str, ask: Ask) -> Found | None:
    form = {"format": {"type": "json_schema", "schema": SCHEMA}}
    request = {**_request(model, text), "output_config": form}
    forms: tuple[Schema, ...] = ("format", "grammar")
    for one in forms:
        reply = await ask("schema", request, one)
        if not _has_answered(reply) and reply.failure not in REFUSALS:
            return None
        if _is_held(reply.text):
            return {"schema": one}
    return {"schema": "prompt"}


def _is_held(text: str) -> bool:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() == {"colour"} and found["colour"] in ("blue", "green")


def _has_answered(reply: ModelReply) -> bool:
    return reply.outcome in ("ok", "cut") and bool(reply.text.strip())


def _judge_sections(reply: ModelReply) -> Found | None:
    if not _has_answered(reply):
        return None
    said = THOUGHT.sub("", reply.text, count=1)
    found = SECTIONS.fullmatch(said)
    return {"keeps_sections": found is not None and EXAMPLE not in found[2]}


def _judge_images(reply: ModelReply) -> Found | None:
    if _has_answered(reply):
        return {"images": YELLOW in reply.text.lower()}
    if reply.failure in REFUSALS | {"server-error"}:  # llama-server answers 500 to an image
        return {"images": False}
    return None


def _measure_speed(reply: ModelReply, text: str) -> Found | None:
    if not _has_answered(reply) or reply.first_text is None:
        return None
    found: dict[str, float] = {}
    read = reply.usage.input + reply.usage.cache_write or estimate_tokens(text)
    written = reply.usage.output or estimate_tokens(reply.text)
    if reply.first_text > 0:
        found["prompt_speed"] = round(read / reply.first_text, 1)
    if reply.seconds > reply.first_text:
        found["answer_speed"] = round(written / (reply.seconds - reply.first_text), 1)
    return found
