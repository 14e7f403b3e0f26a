"""Validation of requests with Anthropic's error texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from rehearsal.claude.prompt import Body, blocks

KNOWN = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "system",
        "stream",
        "thinking",
        "output_config",
        "cache_control",
        "tools",
        "tool_choice",
        "stop_sequences",
        "metadata",
        "service_tier",
        "speed",
        "container",
        "diagnostics",
        "inference_geo",
        "user_profile_id",
        "workspace_id",
    }
)
REQUIRED = ("model", "max_tokens", "messages")
ROLES = ("user", "assistant", "system")
MUST_THINK = ("claude-sonnet-5", "claude-opus-5", "claude-fable-5")
"""Models without `disabled` thinking and forced tools."""
FIVE = (*MUST_THINK, "claude-haiku-5")
BREAKPOINTS = 4


def objection(body: Body) -> str | None:
    """Return the error of a request, or None."""
    for rule in RULES:
        why = rule(body)
        if why:
            return why
    return None


def _fields(body: Body) -> str | None:
    for name in REQUIRED:
        if name not in body:
            return f"{name}: Field required"
    for name in sorted(body.keys() - KNOWN):
        return f"{name}: Extra inputs are not permitted"
    return None


def _sizes(body: Body) -> str | None:
    limit = body["max_tokens"]
    if not isinstance(limit, int) or limit < 1:
        return "max_tokens: Input should be greater than or equal to 1"
    if not isinstance(body["messages"], list) or not body["messages"]:
        return "messages: at least one message is required"
    return None


def _messages(body: Body) -> str | None:
    for i, message in enumerate(body["messages"]):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            return f"messages.{i}.role: Input should be 'user', 'assistant' or 'system'"
        if not isinstance(message.get("content"), str | list):
            return f"messages.{i}.content: Input should be a valid string or list"
        if not blocks(message["content"]):
            return f"messages.{i}: content must be non-empty"
    return None


def _order(body: Body) -> str | None:
    roles = [message["role"] for message in body["messages"]]
    if roles[0] != "user":
        return "messages: first message must use the 'user' role"
    if roles[-1] == "assistant":
        return "This model does not support assistant message prefill. It must end with a user message."
    if any(role == "system" and before != "user" for before, role in pairwise(roles)):
        return "messages: a 'system' message must follow a 'user' message"
    return None


def _texts(body: Body) -> str | None:
    for where, block in _all_blocks(body):
        if block.get("type") == "text" and not str(block.get("text", "")).strip():
            return f"{where}: text content blocks must contain non-whitespace text"
    return None


def _breakpoints(body: Body) -> str | None:
    places = [body, *(body.get("tools") or ()), *(block for _, block in _all_blocks(body))]
    count = sum(bool(place.get("cache_control")) for place in places)
    if count <= BREAKPOINTS:
        return None
    return f"A maximum of {BREAKPOINTS} blocks with cache_control may be provided. Found {count}."


def _thinking(body: Body) -> str | None:
    model, kind = str(body["model"]), (body.get("thinking") or {}).get("type")
    if kind == "enabled" and model.startswith(FIVE):
        return "thinking: 'enabled' with a budget is not supported on this model"
    if kind == "disabled" and model.startswith(MUST_THINK):
        return "thinking: 'disabled' is not supported on this model"
    return None


def _forced_tool(body: Body) -> str | None:
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    if forced and str(body["model"]).startswith(MUST_THINK):
        return "tool_choice: forced tool use is not supported on this model"
    return None


def _schema(body: Body) -> str | None:
    form = (body.get("output_config") or {}).get("format")
    if form is None:
        return None
    if form.get("type") != "json_schema" or not isinstance(form.get("schema"), dict):
        return "output_config.format: Input should be a json_schema with a schema"
    if _is_open(form["schema"]):
        return (
            "output_config.format.schema: 'object' needs 'additionalProperties' to be explicitly set to false"
        )
    return None


def _is_open(schema: object) -> bool:
    """True if any object in this schema allows additional properties."""
    if isinstance(schema, list):
        return any(_is_open(part) for part in schema)
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return True
    return any(_is_open(part) for part in schema.values())


def _all_blocks(body: Body) -> Iterator[tuple[str, dict[str, Any]]]:
    for i, block in enumerate(blocks(body.get("system"))):
        yield f"system.{i}", block
    for i, message in enumerate(body["messages"]):
        for j, block in enumerate(blocks(message["content"])):
            yield f"messages.{i}.content.{j}", block


RULES: tuple[Callable[[Body], str | None], ...] = (
    _fields,
    _sizes,
    _messages,
    _order,
    _texts,
    _breakpoints,
    _thinking,
    _forced_tool,
    _schema,
)
"""Ordered: rules rely on earlier ones."""
