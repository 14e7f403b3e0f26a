"""Claude over the network: the LLM port, with the anthropic SDK. Built and owned by app.py."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

import httpx2
from anthropic import AsyncAnthropic, DefaultAioHttpClient
from anthropic.types import RawMessageStreamEvent

from daemon.claude.answer import Answer
from daemon.claude.failure import FAILURES, detail, failure
from daemon.claude.models import cost, model
from daemon.claude.request import request
from daemon.errors import ModelFailed
from daemon.memory import WorkingMemory
from daemon.ports import Clock, Hear, Hold, Reply, Role, Usage

log = logging.getLogger(__name__)

ANTHROPIC = "https://api.anthropic.com"
"""Said explicitly, so that nothing but the settings decides where the words go."""
TIMEOUT = httpx2.Timeout(120, connect=10)
"""Seconds of silence after which the other side is given up; a local model reads a long prompt in silence."""
LONGEST = 600.0
"""Seconds that a whole answer may take."""
BYTES = 2
"""Bytes to a token, at the least: prose has three or more, Chinese has two."""


class Claude:
    """The models of this daemon, one for each role. Its connections live as long as its context.

    `rehearsed` says that nobody bills for it: `cost` is 0, and no proxy stands before the loopback.
    """

    def __init__(
        self,
        *,
        api_key: str,
        models: Mapping[Role, str],
        clock: Clock,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        rehearsed: bool = False,
        longest: float = LONGEST,
    ) -> None:
        self._models = dict(models)
        self._clock = clock
        self._rehearsed = rehearsed
        self._longest = longest
        self._client = AsyncAnthropic(
            api_key=api_key,
            base_url=base_url or ANTHROPIC,
            default_headers=headers,
            max_retries=0,
            timeout=TIMEOUT,
            open_telemetry=False,
            http_client=DefaultAioHttpClient(trust_env=not rehearsed),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    def request(self, memory: WorkingMemory, role: Role) -> Mapping[str, Any]:
        """The request that `call` would send for this memory."""
        return request(memory, model(self._models[role]))

    def reserve(self, request: Mapping[str, Any]) -> float:
        """The most that this request can cost, in dollars."""
        if self._rehearsed:
            return 0.0
        prompt = len(json.dumps(request, ensure_ascii=False).encode()) // BYTES
        return cost(model(request["model"]), Usage(cache_write=prompt, output=request["max_tokens"]))

    async def call(self, request: Mapping[str, Any], hear: Hear | None, hold: Hold) -> Reply:
        """Send it once. Raises only what `hold` and `hear` raise, and cancellation."""
        answer, failed, first_text = Answer(), "", None
        hold()
        began = self._clock.now()
        try:
            async with aclosing(self._deltas(request, answer)) as deltas:
                async for delta in deltas:
                    if first_text is None:
                        first_text = self._clock.now() - began
                    if hear is not None:
                        await hear(delta)
        except ModelFailed as broken:
            failed = broken.failure
        return self._reply(request["model"], answer, failed, first_text, self._clock.now() - began)

    async def _deltas(self, request: Mapping[str, Any], answer: Answer) -> AsyncGenerator[str, None]:
        """The texts of the answer as they come. What the consumer raises does not pass through here."""
        deadline = asyncio.get_running_loop().time() + self._longest
        try:
            async with await self._client.messages.create(**request, stream=True) as events:
                while (event := await _next(events, deadline)) is not None:
                    if delta := answer.take(event):
                        yield delta
        except FAILURES as error:
            log.warning("Claude did not answer: %s (%s)", failure(error), detail(error))
            raise ModelFailed(failure(error)) from error
        if answer.stop_reason is None:
            log.warning("Claude did not answer: the stream ended in the middle")
            raise ModelFailed("broken-stream")

    def _reply(
        self, name: str, answer: Answer, failed: str, first_text: float | None, seconds: float
    ) -> Reply:
        usage = answer.billed()
        worth = cost(model(name), usage)
        return Reply(
            outcome="failed" if failed else answer.outcome,
            model=name,
            text="" if answer.outcome == "refused" else answer.text,
            stop_reason=answer.stop_reason,
            failure=failed,
            usage=usage,
            cost=0.0 if self._rehearsed else worth,
            worth=worth,
            first_text=first_text,
            seconds=seconds,
        )


async def _next(events: Any, deadline: float) -> RawMessageStreamEvent | None:
    """The next event, None at the end. The deadline is only ours: `hear` is never cut off by it."""
    async with asyncio.timeout_at(deadline):
        event: RawMessageStreamEvent | None = await anext(events, None)
        return event
