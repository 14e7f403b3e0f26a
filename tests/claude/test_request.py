"""Growth and cache marks of requests."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from daemon.claude.models import CHOSEN, LISTED_MODELS, ModelSpec, listed_model
from daemon.claude.requests import WORDLESS, build_request, with_schema_form, without_schema
from daemon.memory import Memory, WorkingMemory, working_memory
from rehearsal.claude.bad_request import objection

SONNET, LOCAL = listed_model("claude-sonnet-5-5"), listed_model("llama-4")
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["why", "actions"],
    "properties": {
        "why": {"type": "string"},
        "actions": {"type": "array", "items": {"enum": ["Respond", "Think"]}},
    },
}
CORE = Memory(role="system", content="You are Claudius.", region="core")
TRAILING = Memory(role="user", content="Answer in <say>…</say>.", region="instruction")

lasting = st.builds(
    Memory,
    role=st.sampled_from(["user", "assistant", "system"]),
    content=st.text(max_size=12),
    seq=st.integers(),
)
specs = st.sampled_from([*LISTED_MODELS, LOCAL])


def user(text: str) -> Memory:
    return Memory(role="user", content=text)


def assistant(text: str) -> Memory:
    return Memory(role="assistant", content=text)


def remembered(*memories: Memory) -> WorkingMemory:
    return working_memory([CORE, *memories, TRAILING])


def blocks(asked: dict[str, Any]) -> list[tuple[str, str]]:
    return [(m["role"], block["text"]) for m in asked["messages"] for block in m["content"]]


def marked(asked: dict[str, Any]) -> list[str]:
    row = [*asked.get("system", ()), *(block for m in asked["messages"] for block in m["content"])]
    return [block["text"] for block in row if "cache_control" in block]


@given(st.lists(lasting), st.lists(lasting), st.text(), st.text(), specs)
def test_the_prompt_only_grows(
    before: list[Memory], more: list[Memory], now: str, then: str, spec: ModelSpec
) -> None:
    first = build_request(working_memory(before).with_region("instruction", now), spec)
    second = build_request(working_memory([*before, *more]).with_region("instruction", then), spec)
    kept = [memory for memory in before if memory.content.strip()]
    begins = len(kept) and len(kept) + (kept[0].role == "assistant")
    assert blocks(second)[:begins] == blocks(first)[:begins]
    assert len(blocks(first)) <= begins + 1


@given(st.lists(lasting), st.text(), specs)
def test_the_api_takes_whatever_is_remembered(memories: list[Memory], trailing: str, spec: ModelSpec) -> None:
    asked = build_request(working_memory([CORE, *memories]).with_region("time", trailing), spec)
    roles = [message["role"] for message in asked["messages"]]
    assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
    assert objection(asked) is None
    assert json.loads(json.dumps(asked)) == asked


@given(st.lists(lasting))
def test_the_trailing_text_is_never_marked_and_stands_last(memories: list[Memory]) -> None:
    asked = build_request(remembered(*memories), SONNET)
    assert blocks(asked)[-1] == ("user", TRAILING.content)
    assert "cache_control" not in asked["messages"][-1]["content"][-1]


def test_a_burst_of_messages_is_one_message_with_a_block_each() -> None:
    asked = build_request(remembered(user("one"), user("two")), SONNET)
    assert blocks(asked) == [("user", "one"), ("user", "two"), ("user", TRAILING.content)]
    assert len(asked["messages"]) == 1


def test_breakpoints_stand_where_this_call_ends_and_where_the_last_one_ended() -> None:
    first = remembered(user("hello"), user("there"))
    assert marked(build_request(first, SONNET)) == [CORE.content, "there"]
    second = remembered(user("hello"), user("there"), assistant("hi"), user("how"), user("are you"))
    assert marked(build_request(second, SONNET)) == [CORE.content, "there", "are you"]


def test_nobody_has_spoken_yet() -> None:
    assert blocks(build_request(working_memory([CORE]), SONNET)) == [("user", WORDLESS)]


def test_a_conversation_that_the_soul_began_is_opened_without_a_word() -> None:
    asked = build_request(remembered(assistant("Good morning!")), SONNET)
    assert blocks(asked) == [
        ("user", WORDLESS),
        ("assistant", "Good morning!"),
        ("user", TRAILING.content),
    ]


def test_each_model_is_asked_in_its_own_way() -> None:
    asked = {spec.id: build_request(remembered(user("hi")), spec) for spec in LISTED_MODELS}
    assert asked["claude-haiku-5-5"]["thinking"] == {"type": "disabled"}
    assert asked["claude-sonnet-5-5"]["thinking"] == {"type": "between_tools"}
    assert "thinking" not in asked["claude-opus-5-5"]
    assert {one["output_config"]["effort"] for one in asked.values()} == {"low"}


def test_a_choice_is_held_to_its_schema_where_the_model_can_be() -> None:
    for spec in LISTED_MODELS:
        asked = build_request(remembered(user("hi")), spec, SCHEMA)
        assert asked["output_config"] == {
            "effort": "low",
            "format": {"type": "json_schema", "schema": SCHEMA},
        }
        assert json.dumps(asked) == json.dumps(build_request(remembered(user("hi")), spec, SCHEMA))
        assert list(asked["output_config"]["format"]["schema"]["properties"]) == ["why", "actions"]
        assert asked["max_tokens"] == CHOSEN + spec.thoughts
        assert objection(asked) is None
    local = build_request(remembered(user("hi")), LOCAL, SCHEMA)
    assert local["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert with_schema_form(local, "format") == local
    assert with_schema_form(local, "prompt") == without_schema(local)
    forced = with_schema_form(local, "grammar")
    assert forced["tools"] == [{"name": "answer", "input_schema": SCHEMA}]
    assert (forced["tool_choice"], "output_config" in forced) == ({"type": "tool", "name": "answer"}, False)
    assert without_schema(forced) == without_schema(local)


def test_an_unknown_model_is_asked_plainly() -> None:
    asked = build_request(remembered(user("hi"), assistant("ho"), user("hi")), LOCAL)
    assert sorted(asked) == ["max_tokens", "messages", "model", "system"]
    assert marked(asked) == []


def test_a_request_is_made_without_the_sdk() -> None:
    code = "import sys, daemon.claude.requests; sys.exit('anthropic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
