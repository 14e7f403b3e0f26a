"""The model: what its server lists, one real, tiny turn as the daemon would ask for it, and its cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress

from daemon.claude.account import ACCOUNT, AccountFault, account_advice, settings_naming_model
from daemon.claude.backend import ModelBackend
from daemon.claude.client import KNOWN, LOOKING_UP, UNLISTED, ClaudeClient
from daemon.claude.name_check import sample_names
from daemon.claude.server_look_up import ServerDescription
from daemon.doctor.finding import Finding, doubtful_finding, ill_finding, well_finding
from daemon.memory import Memory, working_memory
from daemon.ports import Role
from daemon.reply import ModelReply

HELLO = "Hello."
FIXES = {
    "bad-request": "Is CLAUDE_MODEL the name of a model there?",
    "unreachable": "Check {address} and the network",
}
"""What to do about a failure that does not pass by itself, and is none of the account's."""
PLAIN = frozenset({"unauthorized", "unreachable"})
"""Failures after which there is nothing more to look up."""


async def ask_server(llm: ClaudeClient) -> None:
    """Ask the server behind a base URL what it lists, as long as a look-up may take."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOKING_UP):
            await llm.backend.look_up()


async def examine_claude(
    llm: ClaudeClient, models: Mapping[Role, str], *, paid: bool
) -> AsyncIterator[Finding]:
    """Look at the list of a server that was asked, say hello to the model that speaks, where it may cost
    something; then look up the others by name."""
    backend = llm.backend
    for finding in _list_findings(backend):
        yield finding
    if backend.check.wrong:  # a start would end here
        return
    names = list(dict.fromkeys(models.values()))
    if paid:
        reply = await _say_hello(llm)
        yield _answer_finding(reply, models, llm)
        if reply.failure in PLAIN:
            return
        names.remove(models["speak"])
    else:
        yield well_finding("claude", "not asked, since BUDGET_DAILY_USD is 0")
    if names and not _names_listed(backend.server):
        yield await _look_up_names(llm, names, models)


def _names_listed(server: ServerDescription | None) -> Sequence[str]:
    """Return the names in the server's list; none where it shows no list, or an empty one."""
    if server is None or server.models is None:
        return ()
    return server.models.names


def _list_findings(backend: ModelBackend) -> Sequence[Finding]:
    """Return findings on the server's list, and on the names in the settings."""
    server = backend.server
    if server is None:
        return ()
    found = [ill_finding("models", sentence.rstrip(".")) for sentence in backend.check.wrong]
    found += [doubtful_finding("models", sentence.rstrip(".")) for sentence in backend.check.doubtful]
    found += [doubtful_finding("windows", sentence.rstrip(".")) for sentence in backend.odd_windows]
    names = _names_listed(server)
    if names and not found:
        count = "1 model" if len(names) == 1 else f"{len(names):,} models"
        found.append(
            well_finding("models", f"{server.address} lists {count}, those of the settings among them")
        )
    return found


async def _say_hello(llm: ClaudeClient) -> ModelReply:
    memory = working_memory([Memory(role="user", content=HELLO)])
    return await llm.call(llm.request(memory, "speak"), None, lambda: None, asyncio.Event())


def _answer_finding(reply: ModelReply, models: Mapping[Role, str], llm: ClaudeClient) -> Finding:
    if reply.outcome in ("ok", "cut"):
        within = llm.first_event_within(reply.model)
        first = reply.seconds if reply.first_text is None else reply.first_text
        if first > within:
            return ill_finding(
                "claude",
                f"{reply.model} answered, but its first word came after {first:.1f} s, and no more than"
                f" {within:g} are waited for. Take a smaller model or a faster server, or set"
                " MODEL_FIRST_TOKEN higher",
            )
        return well_finding("claude", f"{reply.model} answered in {reply.seconds:.1f} s, {_price(reply)}")
    fix = FIXES.get(reply.failure, "Try again in a few minutes").format(address=llm.account.address)
    if reply.failure in ACCOUNT:
        fix = _fix(reply.failure, reply.model, models, llm)
    return ill_finding("claude", f"{reply.model} did not answer ({reply.failure or reply.outcome}). {fix}")


async def _look_up_names(llm: ClaudeClient, names: list[str], models: Mapping[Role, str]) -> Finding:
    """What the server says of these names, which costs nothing."""
    fixes: list[str] = []
    unsure: list[str] = []
    why = "it could not be asked"
    for name in names:
        word = await llm.look_up(name)
        if word in ACCOUNT:
            fixes.append(_fix(word, name, models, llm))
        elif word != KNOWN:
            unsure.append(name)
        if word == UNLISTED:
            why = "this server has no list of models"
    if fixes:
        return ill_finding("models", " ".join(dict.fromkeys(fixes)))
    if not unsure:
        return well_finding("models", f"{', '.join(names)}: known, too")
    return well_finding("models", f"{', '.join(unsure)}: not looked up, {why}")


def _fix(word: str, name: str, models: Mapping[Role, str], llm: ClaudeClient) -> str:
    """Return what to do, with the names that the server lists where it has no such model."""
    said = account_advice(
        AccountFault(failure=word, model=name), settings_naming_model(name, models), llm.account
    )
    names = _names_listed(llm.backend.server)
    if word == "unknown-model" and names:
        said += f" The server lists {sample_names(names, name)}."
    return said


def _price(reply: ModelReply) -> str:
    if reply.worth:
        return f"for ${reply.cost:.5f}"
    return "for nothing"
