"""A working memory as a request to the Messages API. Pure and byte-stable.

The messages only grow from call to call (DESIGN §6, rule 8), so that the provider's cache hits: what
changes stands last, as trailing text, and every cache breakpoint stands before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from daemon.claude.capabilities import Schema
from daemon.claude.models import CHOSEN, SPOKEN, ModelSpec, is_listed
from daemon.engine.writable import storable_text, storable_value
from daemon.memory import Memory, WorkingMemory

WORDLESS = "…"
"""Stands where the API wants a user to say something and nobody has: it refuses empty text."""
ANSWER_TOOL = "answer"
"""The only tool of a request whose answer is held to a grammar: llama-server makes one for a forced tool."""
EPHEMERAL = {"type": "ephemeral"}

Block = dict[str, Any]
Message = dict[str, Any]


def build_request(
    memory: WorkingMemory, spec: ModelSpec, schema: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The request that asks this model to go on from this memory: JSON, without `stream`.

    It names the `schema` also where its model cannot be held to one: the client sees to that (`held`).
    """
    system = [_text(one.content) for one in _with_words(memory.system)]
    messages = _messages(memory.conversation)
    if spec.caches:
        _mark_cached([*system[-1:], *_mark_cached_blocks(messages)])
    _append_trailing(messages, memory.trailing)
    if memory.beginning and not is_listed(spec.id):  # Claude refuses to go on from words of its own
        _add(messages, "assistant", memory.beginning)
    room = SPOKEN
    if schema is not None:
        room = CHOSEN
    answer = spec.answer_tokens(room + spec.thoughts)
    asked: dict[str, Any] = {"model": spec.id, "max_tokens": answer, "messages": messages}
    if system:
        asked["system"] = system
    if spec.thinking:
        asked["thinking"] = dict(spec.thinking)
    config = _output_config(spec, schema)
    if config:
        asked["output_config"] = config
    return asked


def _output_config(spec: ModelSpec, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Changes between two calls cost the cached messages: a schema stays the same during a run."""
    config: dict[str, Any] = {}
    if spec.effort:
        config["effort"] = spec.effort
    if schema is not None:
        config["format"] = {"type": "json_schema", "schema": storable_value(dict(schema))}
    return config


def _text(text: str) -> Block:
    return {"type": "text", "text": storable_text(text)}


def _with_words(memories: Iterable[Memory]) -> list[Memory]:
    return [memory for memory in memories if memory.content.strip()]


def _messages(conversation: Iterable[Memory]) -> list[Message]:
    """One message for each run of memories of one role, one block for each memory; a user begins."""
    messages: list[Message] = []
    for memory in _with_words(conversation):
        if memory.role != "assistant":
            _add(messages, "user", memory.content)
            continue
        if not messages:
            _add(messages, "user", WORDLESS)
        _add(messages, "assistant", memory.content)
    return messages


def _add(messages: list[Message], role: str, text: str) -> None:
    """Say this in the last message, if it is of this role, else in a new one."""
    if not messages or messages[-1]["role"] != role:
        messages.append({"role": role, "content": []})
    messages[-1]["content"].append(_text(text))


def _mark_cached_blocks(messages: list[Message]) -> list[Block]:
    """The blocks to cache: the last one, and those where the previous call's breakpoint may have stood.

    They make the hit sure: the API looks back no more than 20 blocks from a breakpoint, and a round of a run
    may add many, with an answer and a thought in them. With the system prompt's these are all four.
    """
    asked = [before for before, message in pairwise(messages) if message["role"] == "assistant"]
    return [message["content"][-1] for message in asked[-2:] + messages[-1:]]


def _mark_cached(blocks: Iterable[Block]) -> None:
    for block in blocks:
        block["cache_control"] = dict(EPHEMERAL)


def _append_trailing(messages: list[Message], trailing: str) -> None:
    """Put what changes last, in the last user message; the API refuses to go on from an assistant's."""
    if trailing.strip():
        _add(messages, "user", trailing)
    elif not messages or messages[-1]["role"] == "assistant":
        _add(messages, "user", WORDLESS)


def asks_for_schema(request: Mapping[str, Any]) -> bool:
    """Does it ask for an answer that is held to a schema?"""
    return "tools" in request or "format" in request.get("output_config", {})


def with_schema_form(request: Mapping[str, Any], form: Schema | None) -> Mapping[str, Any]:
    """The same, held to its schema in this form; a request without one stays as it is."""
    if not asks_for_schema(request) or form == "format":
        return request
    if form != "grammar":
        return without_schema(request)
    schema = request["output_config"]["format"]["schema"]
    tool = {"name": ANSWER_TOOL, "input_schema": schema}
    return {**without_schema(request), "tools": [tool], "tool_choice": {"type": "tool", "name": ANSWER_TOOL}}


def without_schema(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same without a schema, for backends that refuse it: there the prompt alone asks for JSON."""
    rest = dict(request)
    rest.pop("tools", None)
    rest.pop("tool_choice", None)
    config = dict(rest.pop("output_config", {}))
    config.pop("format", None)
    if config:
        rest["output_config"] = config
    return rest


def simplified(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The same without what backends refuse: temperature, first words, then schema. None: it has none."""
    if "temperature" in request:
        return {name: value for name, value in request.items() if name != "temperature"}
    if request["messages"][-1]["role"] == "assistant":
        return {**request, "messages": request["messages"][:-1]}
    return without_schema(request) if asks_for_schema(request) else None


def with_room(request: Mapping[str, Any], tokens: int) -> Mapping[str, Any]:
    """The same with an answer of no more than so many tokens."""
    return {**request, "max_tokens": min(request["max_tokens"], tokens)}
