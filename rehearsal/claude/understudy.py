"""The understudy: plays Claude where there is none. Tests queue replies and look at what was asked."""

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
"""Seconds between two pieces of an answer."""
KEPT = 200
"""Requests that are kept for looking at."""
LOOK = 0.01
"""Real seconds from one look to the next whether somebody still waits for an answer."""
QUIET = ("disabled", "between_tools")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDisconnected:
    """Who asked was gone before the answer was whole. `request` counts all that came, from 1.

    `at` is when the connection was seen to close, in seconds of time.monotonic().
    """

    request: int
    at: float


class ClaudeUnderstudy:
    """Answers the Messages API: what is queued first, then by the script, a pure function of the request.

    `requests` are the last bodies that came, oldest first, refused ones too; `closed` those whose answer
    nobody waited for; `faults` are the switches of what can go wrong. `script` may be set to another one.
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
        """Add the Messages API, and the queue for tests in other processes, which takes the same in JSON."""
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
        """Answer with this text (None: the script's), in chunks of that many characters.

        It is held back by a delay or until an event, after its first so many characters. The first queued
        reply that fits a request answers it: by `model`, a name or pattern, and by `asks`, which the last
        text of the request or its schema holds; without these it fits any. So do the other three.
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
        """Fail with this error; `wait` is its Retry-After. With 200 it comes in the stream, after a text."""
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
        """Say this much, then stop as the safety classifier does."""
        self._cues.append(ReplyCue(text=after, ending="refusal", model=model, asks=asks))

    def cut(self, after: str = "", hush: bool = False, model: str = "*", asks: str = "") -> None:
        """Say this much, then break the connection; with `hush`, end it politely, unfinished."""
        ending: Literal["hush", "cut"] = "hush" if hush else "cut"
        self._cues.append(ReplyCue(text=after, ending=ending, model=model, asks=asks))

    async def _requested(self, request: web.Request) -> web.Response:
        return web.json_response(list(self.requests))

    async def _were_closed(self, request: web.Request) -> web.Response:
        return web.json_response([asdict(one) for one in self.closed])

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        """An answer, given up as soon as nobody waits for it."""
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
        """What is to be done with this request."""
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
    """Whether whoever asked is gone: aiohttp tells it to who writes, and to nobody who waits."""
    return request.transport is None or request.transport.is_closing()


async def _queue(queue: Callable[..., None], request: web.Request) -> web.Response:
    try:
        queue(**await request.json(loads=parsed))
    except (TypeError, ValueError) as error:
        raise web.HTTPBadRequest(text=str(error)) from error
    return web.json_response({"ok": True})
