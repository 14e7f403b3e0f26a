"""World of a fake month: people in many threads, trouble on some days.

Each night the clock moves to the next day.
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
from tests.crashes.json_lines import append_line
from tests.stories.stage import ALICE, BOB, CAROL, GENERAL, ME, RANDOM
from tests.wire.kill_points import ArmedKillPoint
from tests.wire.scenario import WireInput, WireScenario
from tests.wire.scenarios import FAILED, LOST_WORDS, UNREACHABLE
from tests.wire.shared_page import SharedPage
from tests.wire.world import ASKED, Handler, WireWorld, blocks, hash_of, recorded

DAYS = 30
DAY = 86_400.0
QUIET, KILLED, NO_MODEL, STOPPED, NO_SLACK = "", "killed", "the model is away", "stopped", "Slack is away"
TROUBLES = (QUIET, KILLED, QUIET, NO_MODEL, STOPPED, NO_SLACK)
AWAY = 120.0
"""Scenario seconds of an outage."""
AT_ONCE = 8
"""Concurrent unanswered lines."""
STUCK = 180.0
"""Real seconds until a line counts as never answered."""
NEW, LONG, LIVELY = 0.15, 0.1, 30
"""Probability of a new thread and of the first thread; number of recent threads."""
DMS = {ALICE: "alice", BOB: "bob", CAROL: "carol"}
PLACES = [*DMS, GENERAL, RANDOM]
WORDS = "the harbour lay still and grey under a low sky while gulls walked along its wall as if they owned it"
NUMBER = re.compile(r"\bm(\d{5})\b")
DIARY = "days.jsonl"


def trouble(day: int) -> str:
    return TROUBLES[day % len(TROUBLES)]


def month(seed: int, messages: int) -> WireScenario:
    """Return random numbered messages."""
    draw = random.Random(seed)
    lines, roots = list[WireInput](), list[int]()
    for number in range(messages):
        root = _root(draw, roots)
        if root is None:
            roots.append(number)
        channel = draw.choice(PLACES) if root is None else lines[root].channel
        who = DMS.get(channel) or draw.choice([*DMS.values()])
        words = draw.sample(WORDS.split(), draw.randint(3, 20))
        text = f"m{number:05} {' '.join(words)}."
        lines.append(
            WireInput(text=text if channel in DMS else f"{ME} {text}", who=who, channel=channel, root=root)
        )
    return WireScenario(inputs=lines, told=[UNREACHABLE, FAILED, LOST_WORDS], storm=f"month {seed}")


def days_of(messages: int) -> Sequence[range]:
    each = -(-messages // DAYS)
    return [range(first, min(first + each, messages)) for first in range(0, messages, each)]


def _root(draw: random.Random, roots: Sequence[int]) -> int | None:
    chance = draw.random()
    if not roots or chance < NEW:
        return None
    return roots[0] if chance < NEW + LONG else draw.choice(roots[-LIVELY:])


class MonthWorld(WireWorld):
    """World of a month; the page's `phase` counts messages."""

    def __init__(
        self, page: SharedPage, scenario: WireScenario, armed: ArmedKillPoint, seconds: float
    ) -> None:
        super().__init__(page, scenario, armed)
        self._until = time.monotonic() + seconds
        self._home = armed.home
        self._asked = set[str]()
        self._waiting = dict[int, float]()
        """Unanswered lines with their times."""
        self._took = list[float]()
        """Answer times of this day in seconds."""
        self._answered = asyncio.Event()

    async def play(self) -> None:
        days = days_of(len(self.scenario.inputs))
        for day, today in enumerate(days):
            began, self._took = self.clock.now(), []
            problem = await self._live(today, trouble(day))
            over = bool(problem) or today == days[-1] or time.monotonic() > self._until
            waited = median(self._took or [0.0])
            told = {"day": day, "said": self.page.phase, "waited": waited, "problem": problem, "over": over}
            append_line(self._home / DIARY, told)
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
        """Handle a request, and note answered lines."""
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
        """Bill and answer a call, without kill point."""
        saw = hash_of(body)
        again = saw in self._asked and recorded(self._home, saw)
        self._asked.add(saw)
        append_line(self._home / ASKED, {"saw": saw, "recorded": again, "blocks": blocks(body)})
        return self.scenario.script(body)
