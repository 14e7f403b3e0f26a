"""Discovery of a model server's list and capabilities, behind a base URL.

Only models without a listed price are probed; a probe costs money and is recorded as an entry. Look-ups are
repeated, since a server may exchange its model.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from types import TracebackType
from typing import Any, Self

from daemon.claude.availability import PASSING_FAILURES
from daemon.claude.capability_probes import TEXTS, ask_probe
from daemon.claude.client import ClaudeClient
from daemon.claude.deadlines import StreamDeadline
from daemon.claude.request_queue import RequestQueue, RequestUrgency
from daemon.claude.requests import Schema
from daemon.engine.clock import Clock
from daemon.engine.event import canonical_json
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.journal import Journal
from daemon.kinds import LookUpCall
from daemon.lifetime import RoleHolder
from daemon.model import ACCOUNT, ModelReply
from daemon.settings.parse import ConfigError
from daemon.turn.prompt_files import JOURNAL_THREAD, PromptFiles
from daemon.turn.usage_limits import DailyBudget

START = 3.0
"""Most seconds that a start waits for the model list."""


ANSWERING = 20.0
"""Most seconds of one look-up."""


AGAIN = 60.0
"""Seconds between two look-ups."""


LOOK = 5.0
"""Seconds without calls before a probe begins."""


PROBES = "test calls"
"""Role of the daemon that probes. Of several, one pays."""


CRASHES = frozenset({"server-error", "unreachable", "broken-stream"})
"""Failures that the probe itself may have caused."""


AWAY = ACCOUNT | PASSING_FAILURES - {"server-error"}
"""Failures that say nothing about the model: the probe is sent again later."""


log = logging.getLogger(__name__)


class BackendWatch:
    """Background discovery of the server behind `claude`; does nothing without a base URL."""

    def __init__(
        self,
        claude: ClaudeClient,
        queue: RequestQueue,
        journal: Journal,
        budget: DailyBudget,
        texts: PromptFiles,
        clock: Clock,
        roles: RoleHolder,
    ) -> None:
        self._claude = claude
        self._queue = queue
        self._backend = claude.backend
        self._journal = journal
        self._budget = budget
        self._texts = texts
        self._clock = clock
        self._roles = roles
        self._is_known = asyncio.Event()
        self._is_late = False
        self._stopping = asyncio.Event()
        self._is_put_off = False
        """True if the last probe failed for a reason unrelated to the model."""
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._backend.has_server:
            self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def wait_for_list(self) -> None:
        """Wait up to three seconds for the model list. Raises ConfigError if it lacks a configured model."""
        if self._task is None:
            return
        self._is_late = not await _in_time(self._clock, START, self._is_known.wait())
        if self._is_late:
            log.info("The server's list of models is late: the start continues without it.")
        check_server_models(self._claude)

    async def _watch(self) -> None:
        await self._look_up()
        self._is_known.set()
        if self._is_late:
            for sentence in self._backend.check.wrong:
                log.error("%s", sentence)
        while self._backend.unlisted_models:
            if self._roles.holds(PROBES):
                for model in self._backend.unlisted_models:
                    await self._probe_all(model)
            await self._wait_for_next_look_up()
            await self._look_up()

    async def _look_up(self) -> None:
        await _in_time(self._clock, ANSWERING, self._backend.look_up())

    async def _wait_for_next_look_up(self) -> None:
        """Wait until the next look-up, which comes early if a failing model recovers."""
        availability = self._claude.availability
        until, was_away = self._clock.steady() + AGAIN, bool(availability.failing_models)
        while self._clock.steady() < until:
            await self._clock.sleep(LOOK)
            if was_away and not availability.failing_models:
                return
            was_away = was_away or bool(availability.failing_models)

    async def _probe_all(self, model: str) -> None:
        for question in self._backend.open_questions(model):
            try:
                await self._probe(model, question)
            except JournalError as error:
                log.info("Probing %s is retried later: %s", model, error)  # the journal logs the error itself
                return

    async def _probe(self, model: str, question: str) -> None:
        if self._backend.note_server_statement(model, question, self._clock.now()):
            return
        text = self._texts.newest_text(TEXTS[question])
        await self._wait_until_idle()
        self._is_put_off = False
        found = await ask_probe(question, model, text, self._send)
        if not self._is_put_off:
            self._backend.note_finding(model, question, found, self._clock.now())
            log.info("Probed what %s can do (%s): %s", model, question, dict(found or {}) or "unclear")

    async def _wait_until_idle(self) -> None:
        quiet_since = self._clock.steady()
        while self._clock.steady() < quiet_since + LOOK:
            await self._clock.sleep(LOOK)
            if self._claude.availability.is_busy:
                quiet_since = self._clock.steady()

    async def _send(self, name: str, request: Mapping[str, Any], form: Schema | None) -> ModelReply:
        """Send a probe, paid from the daily budget, and return the reply."""
        amount = self._claude.highest_cost(request, len(canonical_json(request)))
        if not self._budget.can_spend(amount):  # a refused reservation would alert the owner
            self._is_put_off = True
            return ModelReply(outcome="over-budget", model=request["model"])
        async with self._budget.reserve(amount, self._stopping):
            reply = await self._giving_way(request, form)
            self._is_put_off = reply.outcome == "cancelled" or self._is_away(reply)
            key = f"look-up:{name}:{self._journal.last_seq_of_all()}"
            await self._journal.append(JOURNAL_THREAD, _look_up_entry(name, reply), key=key, author="core")
        return reply

    def _is_away(self, reply: ModelReply) -> bool:
        """True if the failure says nothing about the model.

        If the server has just shown its list, a crash counts against the model.
        """
        server = self._backend.server
        if reply.failure in CRASHES and server and not server.why:
            return False
        return reply.failure in AWAY

    async def _giving_way(self, request: Mapping[str, Any], form: Schema | None) -> ModelReply:
        model = str(request["model"])
        async with self._queue.admitted(
            model, RequestUrgency.BACKGROUND, JOURNAL_THREAD, self._stopping
        ) as place:
            return await self._claude.probe(request, form, place.over)


async def look_up_server(claude: ClaudeClient, clock: Clock) -> None:
    """Fetch the server's model list. Raises ConfigError if the list lacks a configured model."""
    await _in_time(clock, START, claude.backend.look_up())
    check_server_models(claude)


def check_server_models(claude: ClaudeClient) -> None:
    if claude.backend.check.wrong:
        raise ConfigError("\n".join(claude.backend.check.wrong))


async def _in_time(clock: Clock, seconds: float, work: Awaitable[object]) -> bool:
    try:
        async with StreamDeadline(clock, clock.steady() + seconds, asyncio.Event()):
            await work
    except TimeoutError:
        return False
    return True


def _look_up_entry(question: str, reply: ModelReply) -> LookUpCall:
    return LookUpCall(
        question=question,
        model=reply.model,
        outcome=reply.outcome,
        failure=reply.failure,
        usage=reply.usage,
        cost=reply.cost,
        worth=reply.worth,
        seconds=reply.seconds,
    )
