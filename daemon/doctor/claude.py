"""The model: what its server lists, one real, tiny turn as the daemon would ask for it, and its cost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress

from daemon.claude.account import ACCOUNT, Fault, advice, settings_of
from daemon.claude.backend import Backend
from daemon.claude.client import KNOWN, LOOKING_UP, UNLISTED, Claude
from daemon.claude.name_check import few
from daemon.claude.server_look_up import Server
from daemon.doctor.finding import Finding, doubtful, ill, well
from daemon.memory import Memory, working_memory
from daemon.ports import Role
from daemon.reply import Reply

HELLO = "Hello."
FIXES = {
    "bad-request": "Is CLAUDE_MODEL the name of a model there?",
    "unreachable": "Check {address} and the network",
}
"""What to do about a failure that does not pass by itself, and is none of the account's."""
PLAIN = frozenset({"unauthorized", "unreachable"})
"""Failures after which there is nothing more to look up."""


async def ask_server(llm: Claude) -> None:
    """Ask the server behind a base URL what it lists, as long as a look-up may take."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOKING_UP):
            await llm.backend.look_up()


async def claude(llm: Claude, models: Mapping[Role, str], *, paid: bool) -> AsyncIterator[Finding]:
    """Look at the list of a server that was asked, say hello to the model that speaks, where it may cost
    something; then look up the others by name."""
    backend = llm.backend
    for finding in _listed(backend):
        yield finding
    if backend.check.wrong:  # a start would end here
        return
    names = list(dict.fromkeys(models.values()))
    if paid:
        reply = await _hello(llm)
        yield _answered(reply, models, llm)
        if reply.failure in PLAIN:
            return
        names.remove(models["speak"])
    else:
        yield well("claude", "not asked, since BUDGET_DAILY_USD is 0")
    if names and not _names_listed(backend.server):
        yield await _looked_up(llm, names, models)


def _names_listed(server: Server | None) -> Sequence[str]:
    """Return the names in the server's list; none where it shows no list, or an empty one."""
    if server is None or server.models is None:
        return ()
    return server.models.names


def _listed(backend: Backend) -> Sequence[Finding]:
    """Return findings on the server's list, and on the names in the settings."""
    server = backend.server
    if server is None:
        return ()
    found = [ill("models", sentence.rstrip(".")) for sentence in backend.check.wrong]
    found += [doubtful("models", sentence.rstrip(".")) for sentence in backend.check.doubtful]
    found += [doubtful("windows", sentence.rstrip(".")) for sentence in backend.odd_windows]
    names = _names_listed(server)
    if names and not found:
        count = "1 model" if len(names) == 1 else f"{len(names):,} models"
        found.append(well("models", f"{server.address} lists {count}, those of the settings among them"))
    return found


async def _hello(llm: Claude) -> Reply:
    memory = working_memory([Memory(role="user", content=HELLO)])
    return await llm.call(llm.request(memory, "speak"), None, lambda: None, asyncio.Event())


def _answered(reply: Reply, models: Mapping[Role, str], llm: Claude) -> Finding:
    if reply.outcome in ("ok", "cut"):
        within = llm.first_event_within(reply.model)
        first = reply.seconds if reply.first_text is None else reply.first_text
        if first > within:
            return ill(
                "claude",
                f"{reply.model} answered, but its first word came after {first:.1f} s, and no more than"
                f" {within:g} are waited for. Take a smaller model or a faster server, or set"
                " MODEL_FIRST_TOKEN higher",
            )
        return well("claude", f"{reply.model} answered in {reply.seconds:.1f} s, {_price(reply)}")
    fix = FIXES.get(reply.failure, "Try again in a few minutes").format(address=llm.account.address)
    if reply.failure in ACCOUNT:
        fix = _fix(reply.failure, reply.model, models, llm)
    return ill("claude", f"{reply.model} did not answer ({reply.failure or reply.outcome}). {fix}")


async def _looked_up(llm: Claude, names: list[str], models: Mapping[Role, str]) -> Finding:
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
        return ill("models", " ".join(dict.fromkeys(fixes)))
    if not unsure:
        return well("models", f"{', '.join(names)}: known, too")
    return well("models", f"{', '.join(unsure)}: not looked up, {why}")


def _fix(word: str, name: str, models: Mapping[Role, str], llm: Claude) -> str:
    """Return what to do, with the names that the server lists where it has no such model."""
    said = advice(Fault(failure=word, model=name), settings_of(name, models), llm.account)
    names = _names_listed(llm.backend.server)
    if word == "unknown-model" and names:
        said += f" The server lists {few(names, name)}."
    return said


def _price(reply: Reply) -> str:
    if reply.worth:
        return f"for ${reply.cost:.5f}"
    return "for nothing"
