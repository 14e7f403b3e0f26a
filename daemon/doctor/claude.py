"""The model: one real, tiny turn, as the daemon would ask for it, its cost, and whether all are known."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from daemon.claude.account import ACCOUNT, Fault, advice, settings_of
from daemon.claude.client import KNOWN, UNLISTED, Claude
from daemon.doctor.finding import Finding, ill, well
from daemon.memory import Memory, working_memory
from daemon.ports import Role
from daemon.reply import Reply

HELLO = "Hello."
FIXES = {
    "bad-request": "Is CLAUDE_MODEL the name of a model there?",
    "unreachable": "Check ANTHROPIC_BASE_URL and the network",
}
"""What to do about a failure that does not pass by itself, and is none of the account's."""
PLAIN = frozenset({"unauthorized", "unreachable"})
"""Failures after which there is nothing more to look up."""


async def claude(llm: Claude, models: Mapping[Role, str], *, paid: bool) -> AsyncIterator[Finding]:
    """Say hello to the model that speaks, where it may cost something; then look up the others by name."""
    async with llm:
        names = list(dict.fromkeys(models.values()))
        if paid:
            reply = await _hello(llm)
            yield _answered(reply, models)
            if reply.failure in PLAIN:
                return
            names.remove(models["speak"])
        else:
            yield well("claude", "not asked, since BUDGET_DAILY_USD is 0")
        if names:
            yield await _looked_up(llm, names, models)


async def _hello(llm: Claude) -> Reply:
    memory = working_memory([Memory(role="user", content=HELLO)])
    return await llm.call(llm.request(memory, "speak"), None, lambda: None, asyncio.Event())


def _answered(reply: Reply, models: Mapping[Role, str]) -> Finding:
    if reply.outcome in ("ok", "cut"):
        return well("claude", f"{reply.model} answered in {reply.seconds:.1f} s, {_price(reply)}")
    fix = FIXES.get(reply.failure, "Try again in a few minutes")
    if reply.failure in ACCOUNT:
        fix = _fix(reply.failure, reply.model, models)
    return ill("claude", f"{reply.model} did not answer ({reply.failure or reply.outcome}). {fix}")


async def _looked_up(llm: Claude, names: list[str], models: Mapping[Role, str]) -> Finding:
    """What the server says of these names, which costs nothing."""
    fixes: list[str] = []
    unsure: list[str] = []
    why = "it could not be asked"
    for name in names:
        word = await llm.look_up(name)
        if word in ACCOUNT:
            fixes.append(_fix(word, name, models))
        elif word != KNOWN:
            unsure.append(name)
        if word == UNLISTED:
            why = "this server has no list of models"
    if fixes:
        return ill("models", " ".join(dict.fromkeys(fixes)))
    if not unsure:
        return well("models", f"{', '.join(names)}: known, too")
    return well("models", f"{', '.join(unsure)}: not looked up, {why}")


def _fix(word: str, name: str, models: Mapping[Role, str]) -> str:
    return advice(Fault(failure=word, model=name), settings_of(name, models))


def _price(reply: Reply) -> str:
    if reply.worth:
        return f"for ${reply.cost:.5f}"
    return "for nothing"
