"""Refusals of the understudy, as in the real API."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic

HELLO = [{"role": "user", "content": "hello"}]
SONNET, HAIKU, LOCAL = "claude-sonnet-5-5", "claude-haiku-5-5", "llama-4"
MARK = {"type": "ephemeral"}
TOOL = {"name": "look", "input_schema": {"type": "object"}}
OPEN = {"type": "object", "properties": {"a": {"type": "string"}}}


def texts(*words: str, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": word, **more} for word in words]


def form(schema: dict[str, Any]) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "schema": schema}}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"extra_body": {"temperature": 1.0}}, "temperature"),
    ({"extra_body": {"top_k": 5}}, "top_k"),
    ({"messages": []}, "at least one"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"messages": [{"role": "robot", "content": "hi"}]}, "role"),
    ({"messages": [*HELLO, {"role": "assistant", "content": "<say>"}]}, "prefill"),
    ({"messages": [{"role": "assistant", "content": "hi"}, *HELLO]}, "first message"),
    ({"messages": [{"role": "system", "content": "hi"}, *HELLO]}, "first message"),
    ({"messages": [{"role": "user", "content": ""}]}, "non-empty"),
    ({"messages": [{"role": "user", "content": texts("hi", " ")}]}, "whitespace"),
    ({"system": texts("")}, "whitespace"),
    ({"system": texts("a", "b", "c", "d", "e", cache_control=MARK)}, "maximum of 4"),
    ({"system": texts("a", "b", "c", "d", cache_control=MARK), "cache_control": MARK}, "maximum of 4"),
    ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "thinking"),
    ({"thinking": {"type": "disabled"}}, "thinking"),
    ({"tools": [TOOL], "tool_choice": {"type": "any"}}, "tool_choice"),
    ({"output_config": form(OPEN)}, "additionalProperties"),
    ({"output_config": form({"anyOf": [OPEN]})}, "additionalProperties"),
]


async def ask(sdk: AsyncAnthropic, **more: Any) -> Any:
    return await sdk.messages.create(**{"model": SONNET, "max_tokens": 50, "messages": HELLO, **more})


@pytest.mark.parametrize(("more", "word"), REFUSED)
async def test_a_mistake_is_refused_in_a_sentence(
    sdk: AsyncAnthropic, more: dict[str, Any], word: str
) -> None:
    with pytest.raises(anthropic.BadRequestError) as error:
        await ask(sdk, **more)
    assert error.value.type == "invalid_request_error"
    assert word in str(error.value.api_message)


@pytest.mark.parametrize(
    "more",
    [
        {"model": HAIKU, "thinking": {"type": "disabled"}},
        {"model": LOCAL, "thinking": {"type": "disabled"}},
        {"thinking": {"type": "between_tools"}},
        {"model": HAIKU, "tools": [TOOL], "tool_choice": {"type": "any"}},
        {"system": texts("a", "b", "c", "d", cache_control=MARK)},
        {"output_config": {"effort": "low", **form({**OPEN, "additionalProperties": False})}},
        {"messages": [*HELLO, {"role": "system", "content": "note"}, *HELLO]},
    ],
)
async def test_what_the_api_takes_is_taken(sdk: AsyncAnthropic, more: dict[str, Any]) -> None:
    assert (await ask(sdk, **more)).stop_reason in ("end_turn", "max_tokens")
