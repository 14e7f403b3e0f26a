"""The understudy: plays Claude where there is none. Mounted by app.py; tests queue replies and look
at what was asked.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

from aiohttp import web

from daemon.ports import Clock
from daemon.rehearsal.claude.cache import Cache
from daemon.rehearsal.claude.cue import Cue
from daemon.rehearsal.claude.prompt import CHARACTERS, Body
from daemon.rehearsal.claude.rules import MUST_THINK, objection
from daemon.rehearsal.claude.script import answer
from daemon.rehearsal.claude.spoiled import bare, failure, spoiled
from daemon.rehearsal.claude.stream import Take, chunks, closing, delta, error, frame, message, opening
from daemon.rehearsal.faults import MODEL_FAULTS
from daemon.rehearsal.outage import hang_up
from daemon.rehearsal.switchboard import Switchboard
from daemon.rehearsal.switches import expose

PACE = 0.02
"""Seconds between two pieces of an answer."""
KEPT = 200
"""Requests that are kept for looking at."""
QUIET = ("disabled", "between_tools")


class Understudy:
    """Answers the Messages API: what is queued first, then by the script, a pure function of the request.

    `requests` are the last bodies that came, oldest first, refused ones too; `faults` are the switches of
    what can go wrong.
    """

    def __init__(self, clock: Clock, pace: float = PACE, script: Callable[[Body], str] = answer) -> None:
        self.faults = Switchboard("The model", MODEL_FAULTS)
        self.requests: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._clock = clock
        self._pace = pace
        self._script = script
        self._cache = Cache(clock)
        self._cues: deque[Cue] = deque()
        self._ids = count(1)

    def mount(self, app: web.Application) -> None:
        """Add the Messages API, and the queue for tests in other processes, which takes the same in JSON."""
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_get("/rehearsal/claude/requests", self._requested)
        for queue in (self.say, self.fail, self.refuse, self.cut):
            app.router.add_post(f"/rehearsal/claude/{queue.__name__}", partial(_queue, queue))
        expose(app, self.faults)

    def say(
        self, raw: str, delay: float = 0.0, chunk: int | None = None, until: asyncio.Event | None = None
    ) -> None:
        """Answer with this text, in chunks of that many characters, after a delay or an event."""
        self._cues.append(Cue(text=raw, delay=delay, chunk=chunk, until=until))

    def fail(self, status: int, type: str, after: str = "") -> None:
        """Fail with this error. With status 200 it comes inside the stream, after this text."""
        self._cues.append(Cue(text=after, ending="error", status=status, kind=type))

    def refuse(self, after: str = "") -> None:
        """Say this much, then stop as the safety classifier does."""
        self._cues.append(Cue(text=after, ending="refusal"))

    def cut(self, after: str = "", hush: bool = False) -> None:
        """Say this much, then break the connection; with `hush`, end it politely, unfinished."""
        self._cues.append(Cue(text=after, ending="hush" if hush else "cut"))

    async def _requested(self, request: web.Request) -> web.Response:
        return web.json_response(list(self.requests))

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        number = f"req_rehearsal_{next(self._ids)}"
        if not _key(request):
            return _error(401, "authentication_error", "x-api-key header is required", number)
        try:
            body = json.loads(await request.content.read())
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return _error(400, "invalid_request_error", "The request body is not a JSON object", number)
        self.requests.append(body)
        if why := objection(body):
            return _error(400, "invalid_request_error", why, number)
        cue = self._cue(str(body["model"]))
        if cue.status != 200:
            await self._wait(cue)
            return _error(cue.status, cue.kind, "Rehearsed failure", number, cue.after)
        take = self._take(body, cue, number)
        if body.get("stream"):
            return await self._stream(request, take, cue, number)
        await self._wait(cue)
        if cue.ending == "cut":
            hang_up(request)
        return web.json_response(message(take), headers={"request-id": number})

    def _cue(self, model: str) -> Cue:
        """What is to be done with a request to this model."""
        if failed := failure(self.faults, model):
            return failed
        return spoiled(self.faults, model, self._cues.popleft() if self._cues else Cue())

    def _take(self, body: dict[str, Any], cue: Cue, number: str) -> Take:
        text = self._script(body) if cue.text is None else cue.text
        text = bare(text) if cue.bare else text
        room = body["max_tokens"] * CHARACTERS
        stop = "refusal" if cue.ending == "refusal" else "max_tokens" if len(text) > room else "end_turn"
        thinking = (body.get("thinking") or {}).get("type")
        return Take(
            id=number.replace("req", "msg"),
            model=body["model"],
            text=text[:room][: cue.most],
            stop_reason=stop,
            thinks=body["model"].startswith(MUST_THINK) and thinking not in QUIET,
            counted=self._cache.count(body),
        )

    async def _wait(self, cue: Cue) -> None:
        if cue.delay:
            await self._clock.sleep(cue.delay)
        if cue.until:
            await cue.until.wait()

    async def _stream(self, request: web.Request, take: Take, cue: Cue, number: str) -> web.StreamResponse:
        response = web.StreamResponse(headers={"request-id": number, "content-type": "text/event-stream"})
        with suppress(ConnectionResetError):  # whoever asked has gone: nobody is there to be told
            await response.prepare(request)
            await response.write(b"".join(map(frame, opening(take))))
            await self._wait(cue)
            await self._play(response, take, cue, take.text[: cue.stall])
            if cue.stall is not None:
                await self.faults.over("stalled")
                await self._play(response, take, cue, take.text[cue.stall :])
            await self._end(request, response, take, cue, number)
        return response

    async def _play(self, response: web.StreamResponse, take: Take, cue: Cue, text: str) -> None:
        for chunk in chunks(text, cue.chunk):
            await response.write(frame(delta(take, chunk)))
            if pace := cue.pace or self._pace:
                await self._clock.sleep(pace)

    async def _end(
        self, request: web.Request, response: web.StreamResponse, take: Take, cue: Cue, number: str
    ) -> None:
        if cue.ending == "error":
            await response.write(frame(error(cue.kind, "Rehearsed failure", number)))
        elif cue.ending == "cut":
            hang_up(request)
        elif cue.ending in ("end", "refusal"):
            await response.write(b"".join(map(frame, closing(take))))


def _key(request: web.Request) -> str:
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer").strip()
    return bearer or request.headers.get("X-Api-Key", "").strip()


def _error(status: int, kind: str, text: str, number: str, after: float = 0.0) -> web.Response:
    headers = {"request-id": number, **({"retry-after": f"{after:g}"} if after else {})}
    return web.json_response(error(kind, text, number), status=status, headers=headers)


async def _queue(queue: Callable[..., None], request: web.Request) -> web.Response:
    try:
        queue(**await request.json())
    except (TypeError, ValueError) as error:
        raise web.HTTPBadRequest(text=str(error)) from error
    return web.json_response({"ok": True})
