"""The rehearsed prompt cache, compared with Anthropic's rules."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from anthropic import AsyncAnthropic

from daemon.claude.client import ClaudeClient
from daemon.engine.execution import no_lease_check
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.model import Role
from daemon.settings.limits import TokenUsage
from rehearsal.claude.understudy import ClaudeUnderstudy
from tests.clock import FakeClock

CHARACTER = "You are Claudius, who lives in a workspace. " * 80
SCHEMA = {"type": "object", "additionalProperties": False, "properties": {"why": {"type": "string"}}}
MARK = {"cache_control": {"type": "ephemeral"}}


def user(text: str) -> Memory:
    return Memory(role="user", content=text)


def begun() -> WorkingMemory:
    return working_memory([Memory(role="system", content=CHARACTER, region="core"), user("Alice: hello")])


async def turn(claude: ClaudeClient, memory: WorkingMemory, note: str) -> tuple[WorkingMemory, TokenUsage]:
    """Make a call; return the memory with its answer, and the tokens."""
    asked = claude.request(memory.with_region("time", note), "speak")
    reply = await claude.call(asked, None, no_lease_check, asyncio.Event())
    return memory.with_memory(Memory(role="assistant", content=reply.text)), reply.usage


async def test_a_conversation_is_paid_once(claude: ClaudeClient) -> None:
    memory, first = await turn(claude, begun(), "It is noon.")
    memory, second = await turn(claude, memory.with_memory(user("Alice: how are you?")), "It is one.")
    memory, third = await turn(claude, memory.with_memory(user("Alice: and now?")), "It is two.")
    assert first.cache_read == 0
    assert first.cache_write > len(CHARACTER) // 4
    assert second.cache_read == first.cache_write
    assert third.cache_read == second.cache_read + second.cache_write
    assert 0 < second.cache_write < 200
    assert first.input == second.input == third.input == len("It is noon.") // 3 + 1


async def test_a_burst_longer_than_the_lookback_still_hits(claude: ClaudeClient) -> None:
    memory, first = await turn(claude, begun(), "now")
    burst = memory.with_memory(*(user(f"Bob: message {n}") for n in range(40)))
    _, second = await turn(claude, burst, "now")
    assert second.cache_read == first.cache_write


async def test_a_cached_prompt_is_forgotten_after_five_minutes(
    claude: ClaudeClient, clock: FakeClock
) -> None:
    _, first = await turn(claude, begun(), "now")
    await clock.advance(299)
    assert (await turn(claude, begun(), "now"))[1].cache_read == first.cache_write
    await clock.advance(299)
    assert (await turn(claude, begun(), "now"))[1].cache_read == first.cache_write
    await clock.advance(301)
    assert (await turn(claude, begun(), "now"))[1].cache_read == 0


async def test_a_changed_character_is_read_anew(claude: ClaudeClient) -> None:
    await turn(claude, begun(), "now")
    other = working_memory(
        [Memory(role="system", content=f"{CHARACTER}!", region="core"), user("Alice: hello")]
    )
    assert (await turn(claude, other, "now"))[1].cache_read == 0


async def ask(sdk: AsyncAnthropic, *texts: dict[str, Any], **more: Any) -> TokenUsage:
    content: Any = [{"type": "text", **text} for text in texts]
    message = await sdk.messages.create(
        **{"model": "claude-haiku-5-5", "max_tokens": 100, **more},
        messages=[{"role": "user", "content": content}],
    )
    usage = message.usage
    return TokenUsage(
        input=usage.input_tokens,
        cache_read=usage.cache_read_input_tokens or 0,
        cache_write=usage.cache_creation_input_tokens or 0,
    )


async def test_nothing_is_cached_unasked(sdk: AsyncAnthropic) -> None:
    for _ in range(2):
        usage = await ask(sdk, {"text": CHARACTER})
        assert (usage.cache_read, usage.cache_write) == (0, 0)


async def test_too_little_is_not_cached(sdk: AsyncAnthropic) -> None:
    for _ in range(2):
        usage = await ask(sdk, {"text": "short", **MARK})
        assert (usage.cache_read, usage.cache_write) == (0, 0)


async def test_the_automatic_breakpoint_lands_on_the_last_block(sdk: AsyncAnthropic) -> None:
    for note in ("noon", "one"):
        usage = await ask(sdk, {"text": CHARACTER}, {"text": note}, cache_control={"type": "ephemeral"})
        assert (usage.input, usage.cache_read) == (0, 0)
    again = await ask(sdk, {"text": CHARACTER}, {"text": "one"}, cache_control={"type": "ephemeral"})
    assert again.cache_write == 0


async def test_it_looks_back_over_twenty_blocks(sdk: AsyncAnthropic) -> None:
    await ask(sdk, {"text": CHARACTER, **MARK})
    near = [{"text": f"note {n}"} for n in range(19)]
    assert (await ask(sdk, {"text": CHARACTER}, *near[:-1], {**near[-1], **MARK})).cache_read > 0


async def test_what_is_found_on_looking_back_lives_on(sdk: AsyncAnthropic, clock: FakeClock) -> None:
    await ask(sdk, {"text": CHARACTER, **MARK})
    await clock.advance(299)
    await ask(sdk, {"text": CHARACTER}, {"text": "note", **MARK})
    await clock.advance(299)
    assert (await ask(sdk, {"text": CHARACTER, **MARK})).cache_read > 0


async def test_it_looks_back_no_further(sdk: AsyncAnthropic) -> None:
    await ask(sdk, {"text": CHARACTER, **MARK})
    far = [{"text": f"note {n}"} for n in range(20)]
    assert (await ask(sdk, {"text": CHARACTER}, *far[:-1], {**far[-1], **MARK})).cache_read == 0


async def test_models_and_settings_have_caches_of_their_own(
    sdk: AsyncAnthropic, understudy: ClaudeUnderstudy
) -> None:
    await ask(sdk, {"text": CHARACTER, **MARK})
    assert (await ask(sdk, {"text": CHARACTER, **MARK}, model="claude-sonnet-5-5")).cache_read == 0
    assert (await ask(sdk, {"text": CHARACTER, **MARK}, thinking={"type": "disabled"})).cache_read == 0
    assert (await ask(sdk, {"text": CHARACTER, **MARK})).cache_read > 0
    assert len(understudy.requests) == 4


PLAYBOOK = "[Choose. Playbook: look before you speak.] " * 20
QUESTION = "What next? Choose actions."


async def rounds(
    claude: ClaudeClient, added: Sequence[Sequence[Memory]], role: Role = "fast"
) -> list[TokenUsage]:
    """Play a run: a choice per round, its result, and the same short question at the end."""
    memory, usages = begun().with_memory(user(PLAYBOOK)), list[TokenUsage]()
    for observed in [[], *added]:
        memory = memory.with_memory(*observed)
        asked = claude.request(memory.with_region("instruction", QUESTION), role, SCHEMA)
        reply = await claude.call(asked, None, no_lease_check, asyncio.Event())
        memory = memory.with_memory(Memory(role="assistant", content=reply.text))
        usages.append(reply.usage)
    return usages


OBSERVED = {
    "one action": [user("[Think: it is the cache]")],
    "three actions": [user("[Think: hm]"), user(f"[Research: {'a line. ' * 300}]"), user("[Remember: done]")],
    "a thought of its own": [Memory(role="assistant", content="I see."), user("[Think: hm]")],
    "a thought in between": [user("[a]"), Memory(role="assistant", content="I see."), user("[b]")],
    "a thread that was read": [user(f"[message {n}]") for n in range(60)],
    "a burst, and a thought": [
        *(user(f"[message {n}]") for n in range(60)),
        Memory(role="assistant", content="I see."),
        user("[Think: hm]"),
    ],
}


@pytest.mark.parametrize("observed", OBSERVED.values(), ids=OBSERVED)
async def test_a_round_of_a_run_pays_for_what_was_added_and_no_more(
    claude: ClaudeClient, observed: list[Memory]
) -> None:
    usages = await rounds(claude, [observed] * 9)
    for before, after in pairwise(usages):
        assert after.cache_read == before.cache_read + before.cache_write
    assert {usage.input for usage in usages} == {len(QUESTION) // 3 + 1}
    assert len({usage.cache_write for usage in usages[1:]}) == 1, "flat"


async def test_a_run_with_another_schema_reads_the_character_alone(claude: ClaudeClient) -> None:
    first = await rounds(claude, [])
    other = claude.request(begun().with_region("instruction", QUESTION), "fast")
    reply = await claude.call(other, None, no_lease_check, asyncio.Event())
    assert 0 < reply.usage.cache_read < first[0].cache_write
