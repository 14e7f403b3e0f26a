"""What a run of ten rounds costs in input: ours, and by the seed's own loop, on the same model and matter.

The understudy counts as Anthropic does what of a prompt it has seen before; the table of models has the prices.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from aiohttp import web

from benchmarks.ferry import ASKED, EXCHANGES, WHY, actions, found
from benchmarks.figure import Figure
from benchmarks.ground import Ground, ground
from benchmarks.instant import CHOOSER, MODEL
from benchmarks.seed import run_seed
from daemon.actions.playing import Player
from daemon.actions.run import Run
from daemon.claude.models import cost, model
from daemon.clock import SystemClock
from daemon.ism import DONE, Action, ISMResult
from daemon.life.live import Life
from daemon.memory import WorkingMemory
from daemon.process import Transition, Turn
from daemon.processes import PROCESSES
from daemon.processes.problem_solving import NAME, run_ism_phase
from daemon.rehearsal.claude.understudy import Understudy
from daemon.reply import Usage
from daemon.server import BODY, address, bind, serving

SPEAKER, EXPERT = "claude-sonnet-5-5", "claude-opus-5-5"
PART = 1 / 5
"""Of what the seed's own loop costs: what a run should cost at the most."""
FLAT = 1.05
"""Times the second round's uncached tokens that the last one's may be."""
RESEARCH = {"name": "Research", "args": {"query": "harbour log"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A run, and all that its chooser could know as it began, as one text."""

    run: Run
    context: str


async def ism(folder: Path, *, rounds: int = 10) -> Sequence[Figure]:
    """Two runs in one conversation, and by the seed's loop: with what was found in its log, and without."""
    understudy = Understudy(SystemClock(), pace=0)
    async with ground(folder, _served(understudy)) as here:
        talk = _Talk(here, understudy, rounds)
        await talk.begin()
        first, seed, poor = await talk.run(), await talk.seed(), await talk.seed(poor=True)
        again, seed_again = await talk.run(), await talk.seed()
    return [*_flat(first), *_compared(first, seed, poor), _next(again, seed_again)]


def uncached(usage: Usage) -> int:
    """The tokens of a prompt that were not read from the cache, whether they were written to it or not."""
    return usage.input + usage.cache_write


def dollars(usages: Iterable[Usage], name: str = CHOOSER) -> float:
    """What the input of these calls costs, on this model."""
    return sum(cost(model(name), replace(usage, output=0)) for usage in usages)


def _flat(ours: Sequence[Usage]) -> Iterator[Figure]:
    first, second, *_, last = map(uncached, ours)
    yield Figure(name="uncached input of a run's first round", value=first, unit="tokens")
    yield Figure(
        name="uncached input of its last round; floor: of its second",
        value=last,
        unit="tokens",
        floor=second,
        aim=f"at most {FLAT:g} times the floor",
        met=last <= FLAT * second,
    )


def _compared(ours: Sequence[Usage], seed: Sequence[Usage], poor: Sequence[Usage]) -> Iterator[Figure]:
    met = dollars(ours) <= PART * dollars(seed)
    yield _cost("input of a run", dollars(ours), dollars(seed), aim=f"at most {PART:g} of the floor", met=met)
    yield _cost("… where both choose with the expert's model", dollars(ours, EXPERT), dollars(seed, EXPERT))
    yield _cost("… where the seed's chooses with the model that speaks", dollars(ours), dollars(seed, SPEAKER))
    yield _cost("… where the seed's never sees what it found", dollars(ours), dollars(poor))


def _next(ours: Sequence[Usage], seed: Sequence[Usage]) -> Figure:
    return _cost("… of the thread's next one, within five minutes", dollars(ours), dollars(seed))


def _cost(name: str, ours: float, seed: float, aim: str = "", met: bool | None = None) -> Figure:
    """In dollars for a thousand runs, beside the seed's: of one there is little to be read."""
    return Figure(name=name, value=ours * 1e3, unit="$/1,000", floor=seed * 1e3, aim=aim, met=met)


class _Talk:
    """A conversation in which things are worked out, and what the model answers there."""

    def __init__(self, here: Ground, understudy: Understudy, rounds: int) -> None:
        player = Player(registry=actions(), loops=rounds)

        async def process(turn: Turn) -> WorkingMemory | Transition:
            return await player.play(turn, NAME, self._phase)

        soul = replace(here.soul, processes={**PROCESSES, NAME: process}, at_once={NAME})
        self._life = Life(here.world, soul)
        self._here, self._understudy, self._rounds = here, understudy, rounds
        self._stamps = count(1)

    async def begin(self) -> None:
        """A few words, before there is anything to work out."""
        self._thread = await self._here.open("ferry")
        for asked, answered in EXCHANGES:
            await self._turn(asked, answered, to="conversation")

    async def run(self) -> list[Usage]:
        """They want something worked out; what each choice took."""
        before = len(self._chosen())
        for one in [*[RESEARCH] * (self._rounds - 1), DONE]:
            self._understudy.say(json.dumps({"why": WHY, "actions": [one]}), model=CHOOSER)
        await self._turn(ASKED, "I am on it.", to=NAME)
        return self._chosen()[before:]

    async def seed(self, *, poor: bool = False) -> list[Usage]:
        """The run that was seen last, by the seed's loop: the same choices, the same found."""
        usages, numbers = list[Usage](), count(1)
        for name in ["Research"] * (self._rounds - 1) + [DONE]:
            self._understudy.say(json.dumps({"actions": [name], "reasoning": WHY}), model=CHOOSER)

        async def invoke(prompt: str) -> str:
            message = await self._here.bare.messages.create(
                model=CHOOSER, max_tokens=2_000, messages=[{"role": "user", "content": prompt}]
            )
            counted = message.usage
            usages.append(Usage(input=counted.input_tokens, output=counted.output_tokens))
            return "".join(block.text for block in message.content if block.type == "text")

        async def research(_context: str, log: list[str]) -> None:
            log += [] if poor else [found(next(numbers))]

        run, handlers = self._seen.run, {"Research": research}
        offered = [Action(one.name, one.description, handlers.get(one.name, _never)) for one in run.actions]
        book = run.playbook
        await run_seed(self._seen.context, book.goal, book.text, offered, invoke, self._rounds)
        return usages

    async def _turn(self, asked: str, answered: str, to: str) -> None:
        text = f"<aside>I see.</aside><next>{to}</next><say>{answered}</say><mood>engaged</mood>"
        self._understudy.say(text, model=MODEL)
        await self._here.say(self._thread, asked, f"{next(self._stamps)}")
        assert await self._life.live(self._thread)

    async def _phase(
        self, context: str, run: Run, interrupt: Callable[[], Awaitable[bool | tuple[str, ...]]]
    ) -> ISMResult:
        system = (memory.content for memory in run.memory.system)
        self._seen = Seen(run=run, context="\n\n".join([*system, context]))
        return await run_ism_phase(context, run, interrupt)

    def _chosen(self) -> list[Usage]:
        calls = self._here.world.journal.of(self._thread, "model-call")
        return [Usage(**call.body["usage"]) for call in calls if call.body["name"] == "choose"]


async def _never(_context: str, _log: list[str]) -> None:
    """What none of these runs chooses."""


@asynccontextmanager
async def _served(understudy: Understudy) -> AsyncIterator[str]:
    """The URL of this model, while inside."""
    app, listener = web.Application(client_max_size=BODY), bind("127.0.0.1", 0)
    understudy.mount(app)
    async with serving(app, listener):
        yield address(listener)
