"""The world of a fake month: people who talk all day in many threads, and what goes wrong on some days.

Each day they say their lines, a few of them waiting for their answers at the same time; when all are answered
it is night, and the clock goes on to the next day.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Sequence
from statistics import median

from aiohttp import web

from rehearsal.claude.prompt import Body
from rehearsal.messages import StoredMessage, find
from tests.lives import note
from tests.stories.stage import ALICE, BOB, CAROL, GENERAL, ME, RANDOM
from tests.wire.board import Board
from tests.wire.mark import Mark
from tests.wire.scenario import Line, Scenario
from tests.wire.scenarios import FAILED, LOST_WORDS, UNREACHABLE
from tests.wire.world import ASKED, Handler, Outside, blocks, hash_of, recorded

DAYS = 30
DAY = 86_400.0
QUIET, KILLED, NO_MODEL, STOPPED, NO_SLACK = "", "killed", "the model is away", "stopped", "Slack is away"
TROUBLES = (QUIET, KILLED, QUIET, NO_MODEL, STOPPED, NO_SLACK)
"""What goes wrong on each day, in turn; the first one after half of that day's lines."""
AWAY = 120.0
"""Seconds of the scenario for which somebody is away."""
AT_ONCE = 8
"""Lines that wait for an answer at the same time."""
STUCK = 180.0
"""Real seconds after which a line that is not answered never will be."""
NEW, LONG, LIVELY = 0.15, 0.1, 30
"""How likely a line begins a thread, or goes on the first one; else one of so many that began last."""
DMS = {ALICE: "alice", BOB: "bob", CAROL: "carol"}
PLACES = [*DMS, GENERAL, RANDOM]
WORDS = "the harbour lay still and grey under a low sky while gulls walked along its wall as if they owned it"
NUMBER = re.compile(r"\bm(\d{5})\b")
DIARY = "days.jsonl"
"""The file of a month with a line for each day that is over."""


def trouble(day: int) -> str:
    """What goes wrong on this day."""
    return TROUBLES[day % len(TROUBLES)]


def month(seed: int, messages: int) -> Scenario:
    """Who says what where, drawn from a seed. Each message has a number of its own."""
    draw = random.Random(seed)
    lines, roots = list[Line](), list[int]()
    for number in range(messages):
        root = _root(draw, roots)
        if root is None:
            roots.append(number)
        channel = draw.choice(PLACES) if root is None else lines[root].channel
        who = DMS.get(channel) or draw.choice([*DMS.values()])
        words = draw.sample(WORDS.split(), draw.randint(3, 20))
        text = f"m{number:05} {' '.join(words)}."
        lines.append(
            Line(text=text if channel in DMS else f"{ME} {text}", who=who, channel=channel, root=root)
        )
    return Scenario(lines=lines, told=[UNREACHABLE, FAILED, LOST_WORDS], storm=f"month {seed}")


def days_of(messages: int) -> Sequence[range]:
    """The lines of each day."""
    each = -(-messages // DAYS)
    return [range(first, min(first + each, messages)) for first in range(0, messages, each)]


def _root(draw: random.Random, roots: Sequence[int]) -> int | None:
    chance = draw.random()
    if not roots or chance < NEW:
        return None
    return roots[0] if chance < NEW + LONG else draw.choice(roots[-LIVELY:])


class MonthWorld(Outside):
    """Everything around the daemon of a month. `phase` on its page is how many lines have been said."""

    def __init__(self, page: Board, scenario: Scenario, mark: Mark, seconds: float) -> None:
        super().__init__(page, scenario, mark)
        self._until = time.monotonic() + seconds
        self._home = mark.home
        self._asked = set[str]()
        self._waiting = dict[int, float]()
        """The lines that nobody has answered, and when they were said."""
        self._took = list[float]()
        """What the answers of this day took, in seconds."""
        self._answered = asyncio.Event()

    async def play(self) -> None:
        """Day after day, until all is said, or there is no more time."""
        days = days_of(len(self.scenario.lines))
        for day, today in enumerate(days):
            began, self._took = self.clock.now(), []
            problem = await self._live(today, trouble(day))
            over = bool(problem) or today == days[-1] or time.monotonic() > self._until
            waited = median(self._took or [0.0])
            told = {"day": day, "said": self.page.phase, "waited": waited, "problem": problem, "over": over}
            note(self._home / DIARY, told)
            if over:
                return
            self.page.moved += max(began + DAY - self.clock.now(), 0.0)

    async def _live(self, today: range, what: str) -> str:
        going = list[asyncio.Task[None]]()
        try:
            async with asyncio.timeout(None) as patience:
                for number in today:
                    patience.reschedule(asyncio.get_running_loop().time() + STUCK)
                    await self._less_than(AT_ONCE)
                    if number == today[len(today) // 2] and what in (NO_MODEL, NO_SLACK):
                        going.append(asyncio.create_task(self._go_wrong(what)))
                    self._waiting[number] = time.monotonic()
                    self.people.say(number)
                    self.page.phase = number + 1
                patience.reschedule(asyncio.get_running_loop().time() + STUCK)
                await self._less_than(1)
        except TimeoutError:
            return f"not answered: {sorted(self._waiting)}"
        await asyncio.gather(*going)
        return ""

    async def _less_than(self, most: int) -> None:
        while len(self._waiting) >= most:
            self._answered.clear()
            await self._answered.wait()

    async def _go_wrong(self, what: str) -> None:
        if what == NO_MODEL:
            self.model.faults.switch("overloaded", True, chance=1.0)
        else:
            self.world.faults.switch("down", True)
        await self.clock.sleep(AWAY)
        self.model.faults.all_off()
        self.world.faults.all_off()

    @web.middleware
    async def carry(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Every request of the daemon's; what it has said by then is an answer."""
        answer = await handler(request)
        method = request.match_info.get("method", "")
        if method.startswith("chat.") and isinstance(answer, web.Response):
            told = json.loads(answer.text or "{}")
            if told.get("ok") and "ts" in told:
                self._note(find(self.world.workspace.db, told["channel"], told["ts"]))
        return answer

    def _note(self, said: StoredMessage) -> None:
        if said.streaming is not None:
            return
        for number in map(int, NUMBER.findall(json.dumps(said.body))):
            if number in self._waiting and self.people.thread(number) == said.root:
                self._took.append(time.monotonic() - self._waiting.pop(number))
                self._answered.set()

    def think(self, body: Body) -> str:
        """The model's answer: billed, and not yet heard by anyone. No other call is looked for."""
        saw = hash_of(body)
        again = saw in self._asked and recorded(self._home, saw)
        self._asked.add(saw)
        note(self._home / ASKED, {"saw": saw, "recorded": again, "blocks": blocks(body)})
        return self.scenario.script(body)
