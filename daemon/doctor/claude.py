"""The model: one real, tiny turn, as the daemon would ask for it, and what it cost."""

from __future__ import annotations

import asyncio

from daemon.claude.client import Claude
from daemon.claude.models import is_known
from daemon.doctor.finding import Finding, ill
from daemon.memory import Memory, working_memory
from daemon.reply import Reply

HELLO = "Hello."
FIXES = {
    "unauthorized": "Get a key at platform.claude.com, Settings, API keys, and set ANTHROPIC_API_KEY",
    "bad-request": "Is CLAUDE_MODEL the name of a model there?",
    "unreachable": "Check ANTHROPIC_BASE_URL and the network",
}
"""What to do about a failure that does not pass by itself."""


async def claude(llm: Claude) -> Finding:
    """Say hello to the model that speaks."""
    memory = working_memory([Memory(role="user", content=HELLO)])
    async with llm:
        reply = await llm.call(llm.request(memory, "speak"), None, lambda: None, asyncio.Event())
    if reply.outcome in ("ok", "cut"):
        return Finding(
            name="claude", said=f"{reply.model} answered in {reply.seconds:.1f} s, {_price(reply)}"
        )
    fix = FIXES.get(reply.failure, "Try again in a few minutes")
    return ill("claude", f"{reply.model} did not answer ({reply.failure or reply.outcome}). {fix}")


def _price(reply: Reply) -> str:
    return f"for ${reply.cost:.5f}" if is_known(reply.model) else "at a price that is not known"
