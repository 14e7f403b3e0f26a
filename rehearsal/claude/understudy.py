"""Claude's understudy, whose replies tests can queue."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from typing import Any, Literal

from aiohttp import web

from rehearsal.claude.bad_request import MUST_THINK, objection
from rehearsal.claude.catalogue import catalogue, key_of, refusal
from rehearsal.claude.cue import ReplyCue, bare, ended, failure, spoiled
from rehearsal.claude.prompt import Body, PromptCache
from rehearsal.claude.script import answer
from rehearsal.claude.too_long import beyond_window
from rehearsal.claude.wire_format import AnswerTake, chunks, closing, delta, error, frame, message, opening
from rehearsal.faults import MODEL_FAULTS
from rehearsal.switchboard import FaultSwitchboard, expose
from rehearsal.timekeeping import RehearsalClock
from rehearsal.wire import hang_up, parsed

PACE = 0.02
"""Seconds between chunks."""
KEPT = 200
LOOK = 0.01
"""Real seconds between checks of the connection."""
QUIET = ("disabled", "between_tools")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDisconnected:
    """Premature end of a connection. `request` counts from 1.

    `at` is in seconds of time.monotonic().
    """

    request: int
    at: float


class ClaudeUnderstudy:
    """Messages API: answers by queued replies, else by `script`, a pure function.

    `requests` are the last bodies, even refused ones; `closed` lists unread answers.
    """

    def __init__(
        self, clock: RehearsalClock, pace: float = PACE, script: Callable[[Body], str] = answer
    ) -> None:
        self.faults = FaultSwitchboard("The model", MODEL_FAULTS)
        self.requests: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._clock = clock
        self._pace = pace
        self.closed: list[ClientDisconnected] = []
        self.script = script
        self._cache = PromptCache(clock)
        self._cues: list[ReplyCue] = []
        self._ids = count(1)

    def mount(self, app: web.Application) -> None:
        """Add the Messages API, and routes that queue replies given as JSON."""
        app.router.add_post("/v1/messages", self._messages)
        catalogue(app, self.faults)
        app.router.add_get("/rehearsal/claude/requests", self._requested)
        app.router.add_get("/rehearsal/claude/closed", self._were_closed)
        queues: Mapping[str, Callable[..., None]] = {
            "say": self.say,
            "fail": self.fail,
            "refuse": self.refuse,
            "cut": self.cut,
        }
        for name, queue in queues.items():
            app.router.add_post(f"/rehearsal/claude/{name}", partial(_queue, queue))
        expose(app, self.faults)

    def say(
        self,
        raw: str | None,
        delay: float = 0.0,
        chunk: int | None = None,
        until: asyncio.Event | None = None,
        first: int = 0,
        model: str = "*",
        asks: str = "",
    ) -> None:
        """Queue a reply (None: the script's), in chunks of `chunk` characters.

        `delay` or `until` pauses it after `first` characters. The first reply that fits answers a request: by
        `model` (a pattern) and `asks`, part of its last text or schema. So do the other queues.
        """
        self._cues.append(
            ReplyCue(text=raw, delay=delay, chunk=chunk, until=until, first=first, model=model, asks=asks)
        )

    def fail(
        self,
        status: int,
        type: str,
        after: str = "",
        model: str = "*",
        asks: str = "",
        said: str = "Rehearsed failure",
        wait: float = 0.0,
    ) -> None:
        """Queue an error; `wait` is its Retry-After. With status 200 it follows text `after`."""
        self._cues.append(
            ReplyCue(
                text=after,
                ending="error",
                status=status,
                kind=type,
                model=model,
                asks=asks,
                said=said,
                after=wait,
            )
        )

    def refuse(self, after: str = "", model: str = "*", asks: str = "") -> None:
        """Queue a text that ends as refused by the safety classifier."""
        self._cues.append(ReplyCue(text=after, ending="refusal", model=model, asks=asks))

    def cut(self, after: str = "", hush: bool = False, model: str = "*", asks: str = "") -> None:
        """Queue a text before a broken connection; with `hush`, an orderly end."""
        ending: Literal["hush", "cut"] = "hush" if hush else "cut"
        self._cues.append(ReplyCue(text=after, ending=ending, model=model, asks=asks))

    async def _requested(self, request: web.Request) -> web.Response:
        return web.json_response(list(self.requests))

    async def _were_closed(self, request: web.Request) -> web.Response:
        return web.json_response([asdict(one) for one in self.closed])

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        count = next(self._ids)
        answering = asyncio.create_task(self._answer(request, f"req_rehearsal_{count}"))
        try:
            while not answering.done():
                await asyncio.wait({answering}, timeout=LOOK)
                if _left(request):
                    break
            if answering.done():
                return answering.result()
        except ConnectionResetError:
            pass
        finally:
            answering.cancel()
        self.closed.append(ClientDisconnected(request=count, at=time.monotonic()))
        return web.Response()

    async def _answer(self, request: web.Request, number: str) -> web.StreamResponse:
        if not key_of(request):
            return refusal(401, "authentication_error", "x-api-key header is required", number)
        try:
            body = parsed(await request.content.read())
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return refusal(400, "invalid_request_error", "The request body is not a JSON object", number)
        self.requests.append(body)
        why = objection(body)
        if why:
            return refusal(400, "invalid_request_error", why, number)
        cue = self._cue(body)
        if cue.status != 200:
            await self._wait(cue)
            if not cue.status:
                hang_up(request)
                return web.Response()
            return refusal(cue.status, cue.kind, cue.said, number, cue.after)
        take = self._take(body, cue, number)
        if body.get("stream"):
            return await self._stream(request, take, cue, number)
        await self._wait(cue)
        if cue.ending == "cut":
            hang_up(request)
        return web.json_response(message(take), headers={"request-id": number})

    def _cue(self, body: dict[str, Any]) -> ReplyCue:
        model = str(body["model"])
        failed = failure(self.faults, model) or beyond_window(self.faults, body)
        if failed:
            return failed
        queued = next((cue for cue in self._cues if cue.fits(body)), None)
        if queued:
            self._cues.remove(queued)
        return spoiled(self.faults, model, queued or ReplyCue())

    def _take(self, body: dict[str, Any], cue: ReplyCue, number: str) -> AnswerTake:
        text = cue.text
        if text is None:
            text = self.script(body)
        if cue.bare:
            text = bare(text)
        stop, end = "end_turn", ""
        if not cue.unbounded:
            text, stop, end = ended(text, body)
        if cue.ending == "refusal":
            stop, end = "refusal", ""
        thinking = (body.get("thinking") or {}).get("type")
        return AnswerTake(
            id=number.replace("req", "msg"),
            model=body["model"],
            text=text[: cue.most],
            stop_reason=stop,
            stop_sequence=end,
            thinks=body["model"].startswith(MUST_THINK) and thinking not in QUIET,
            counted=self._cache.count(body),
        )

    async def _wait(self, cue: ReplyCue) -> None:
        if cue.delay:
            await self._clock.sleep(cue.delay)
        if cue.until:
            await cue.until.wait()

    async def _stream(
        self, request: web.Request, take: AnswerTake, cue: ReplyCue, number: str
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"request-id": number, "content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"".join(map(frame, opening(take))))
        await self._play(response, take, cue, take.text[: cue.first])
        await self._wait(cue)
        await self._play(response, take, cue, take.text[cue.first : cue.stall])
        if cue.stall is not None:
            await self.faults.over("stalled")
            await self._play(response, take, cue, take.text[cue.stall :])
        await self._end(request, response, take, cue, number)
        return response

    async def _play(self, response: web.StreamResponse, take: AnswerTake, cue: ReplyCue, text: str) -> None:
        for chunk in chunks(text, cue.chunk):
            await response.write(frame(delta(take, chunk)))
            pace = cue.pace or self._pace
            if pace:
                await self._clock.sleep(pace)

    async def _end(
        self, request: web.Request, response: web.StreamResponse, take: AnswerTake, cue: ReplyCue, number: str
    ) -> None:
        if cue.ending == "error":
            await response.write(frame(error(cue.kind, cue.said, number)))
        elif cue.ending == "cut":
            hang_up(request)
        elif cue.ending in ("end", "refusal"):
            await response.write(b"".join(map(frame, closing(take))))


def _left(request: web.Request) -> bool:
    """True if the client is gone; aiohttp reports it only on writes."""
    return request.transport is None or request.transport.is_closing()


async def _queue(queue: Callable[..., None], request: web.Request) -> web.Response:
    try:
        queue(**await request.json(loads=parsed))
    except (TypeError, ValueError) as error:
        raise web.HTTPBadRequest(text=str(error)) from error
    return web.json_response({"ok": True})
