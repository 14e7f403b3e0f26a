"""Conversation with runs, or the seed's loop, on the understudy."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from aiohttp import web

from benchmarks.ferry import ASKED, WHY, actions, found
from benchmarks.ground import Ground, ground
from benchmarks.instant import CHOOSER, MODEL
from benchmarks.seed import run_seed
from daemon.answers.choice import DONE
from daemon.app.discovery import PROCESSES
from daemon.console.server import BODY, bind, serve_app, url_of_socket
from daemon.engine.clock import SystemClock
from daemon.ism import Action
from daemon.kinds import ModelCall
from daemon.memory import WorkingMemory
from daemon.playbooks.run import PlaybookPlayer, PlaybookRun, play_to_end
from daemon.process import Transition, Turn
from daemon.processes.problem_solving import NAME
from daemon.settings.limits import TokenUsage
from rehearsal.claude.understudy import ClaudeUnderstudy

RESEARCH = {"name": "Research", "args": {"query": "harbour log"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Run, and all that its chooser could know at its beginning."""

    run: PlaybookRun
    context: str


class Talk:
    def __init__(self, here: Ground, understudy: ClaudeUnderstudy, rounds: int) -> None:
        player = PlaybookPlayer(registry=actions(), loops=rounds)

        async def process(turn: Turn) -> WorkingMemory | Transition:
            run = await player.run(turn, NAME)
            known = [*run.memory.system, *run.memory.conversation]
            self._seen = Seen(run=run, context="\n\n".join(memory.content for memory in known))
            return await play_to_end(run)

        world = replace(here.world, processes={**PROCESSES, NAME: process}, at_once={NAME})
        self._turns = replace(here, world=world).turns()
        self._here, self._understudy, self._rounds = here, understudy, rounds
        self._stamps = count(1)

    async def turn(self, asked: str, answered: str, to: str = "conversation") -> None:
        """Send a message, and take the turn that answers it."""
        text = f"<aside>I see.</aside><next>{to}</next><say>{answered}</say><mood>engaged</mood>"
        self._understudy.say(text, model=MODEL)
        thread = await self._here.open("ferry")
        await self._here.say(thread, asked, f"{next(self._stamps)}")
        assert await self._turns.take_turn(thread)

    async def run(self) -> list[TokenUsage]:
        """Run a playbook; return each choice's usage."""
        before = len(self._chosen())
        for one in [*[RESEARCH] * (self._rounds - 1), DONE]:
            self._understudy.say(json.dumps({"why": WHY, "actions": [one]}), model=CHOOSER)
        await self.turn(ASKED, "I am on it.", to=NAME)
        chosen = self._chosen()[before:]
        assert len(chosen) == self._rounds, "the run did not make all scripted choices"
        return chosen

    async def seed(self, *, poor: bool = False) -> list[TokenUsage]:
        """Repeat the last run by the seed's loop, with equal choices and results."""
        usages, numbers = list[TokenUsage](), count(1)
        for name in ["Research"] * (self._rounds - 1) + [DONE]:
            self._understudy.say(json.dumps({"actions": [name], "reasoning": WHY}), model=CHOOSER)

        async def invoke(prompt: str) -> str:
            message = await self._here.bare.messages.create(
                model=CHOOSER, max_tokens=2_000, messages=[{"role": "user", "content": prompt}]
            )
            counted = message.usage
            usages.append(TokenUsage(input=counted.input_tokens, output=counted.output_tokens))
            return "".join(block.text for block in message.content if block.type == "text")

        async def research(_context: str, log: list[str]) -> None:
            log += [] if poor else [found(next(numbers))]

        run, handlers = self._seen.run, {"Research": research}
        offered = [
            Action(one.name, one.description, handlers.get(one.name, _never)) for one in run.definitions
        ]
        book = run.playbook
        await run_seed(self._seen.context, book.goal, book.text, offered, invoke, self._rounds)
        return usages

    def _chosen(self) -> list[TokenUsage]:
        calls = self._here.world.journal.entries_of_kind(ModelCall)
        return [call.event.usage for call in calls if call.event.name == "choose"]


async def _never(_context: str, _log: list[str]) -> None: ...


@asynccontextmanager
async def talking(folder: Path, rounds: int) -> AsyncIterator[Talk]:
    understudy = ClaudeUnderstudy(SystemClock(), pace=0)
    async with ground(folder, served(understudy)) as here:
        yield Talk(here, understudy, rounds)


@asynccontextmanager
async def served(understudy: ClaudeUnderstudy) -> AsyncIterator[str]:
    """Serve a model; yield its URL."""
    app, listener = web.Application(client_max_size=BODY), bind("127.0.0.1", 0)
    understudy.mount(app)
    async with serve_app(app, listener):
        yield url_of_socket(listener)
