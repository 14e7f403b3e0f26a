"""Server whose model answers as weak models do, behind the Messages API."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from aiohttp import web

from rehearsal.claude.prompt import CHARACTERS
from rehearsal.claude.wire_format import AnswerTake, chunks, closing, delta, error, frame, opening
from tests.source import ROOT

Request = Mapping[str, Any]
SECRET = "Alice must never know that the harbour is sold."
"""Private thought of the model."""
FERRY = "The ferry leaves at nine."
FORM = ROOT / "prompts" / "form.md"
COUNTED = {"input_tokens": 100, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


def texts_of(request: Request) -> list[str]:
    """Return all texts of a request, the system's first."""
    blocks = [*request.get("system", ())]
    for message in request["messages"]:
        blocks += message["content"]
    return [block["text"] for block in blocks]


def asked_in(request: Request) -> str:
    *_, last = [message for message in request["messages"] if message["role"] == "user"]
    return str(last["content"][-1]["text"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to answer: text shown in `plain` mode and with `sections`; empty: the apology."""

    answer: Callable[[Request], str]
    plain: str = ""
    sections: str = ""


def always(text: str, plain: str = "", sections: str = "") -> Way:
    return Way(answer=lambda _request: text, plain=plain, sections=sections)


def alike(text: str, said: str = FERRY) -> Way:
    """Return a way whose text is shown alike in both forms."""
    return always(text, said, said)


EXAMPLE = re.compile(r"looks like this:\n\n(.*?)\n\n", re.DOTALL)


def example_in(request: Request) -> str:
    """Return the example answer in our system text, else that of our file."""
    [shown] = EXAMPLE.findall("\n".join(texts_of(request))) or EXAMPLE.findall(FORM.read_text())
    return str(shown)


WAYS: Mapping[str, Way] = {
    "one word for ever": always("ferry " * 5_000),
    "tags in German": always(f"<gedanke>{SECRET}</gedanke><sprich>Hallo.</sprich>"),
    "tags in Russian": always(f"<мысль>{SECRET}</мысль><говорить>Привет.</говорить>"),
    "half of the suffix": alike(f"<aside-k>{SECRET}</aside-k><say-k>{FERRY}</say-k>"),
    "an aside only": always(f"<aside>{SECRET}</aside>"),
    "an empty spoken section": always(f"<aside>{SECRET}</aside><say></say>"),
    "our last instruction": Way(answer=lambda request: texts_of(request)[-1]),
    "our note and the question": Way(answer=lambda request: "\n".join(texts_of(request)[1:])),
    "our example": Way(answer=example_in),
    "our example with bare tags": Way(answer=lambda _request: "".join(EXAMPLE.findall(FORM.read_text()))),
    "our system text": Way(answer=lambda request: texts_of(request)[0]),
    "broken JSON": always('{"say": "The ferry leaves at ni'),
    "JSON for a choice": always('{"why": "I have to answer them first", "actions": ["Respond"'),
    "the other person's turn": alike(
        f'{FERRY}\n<message from="Alice">\nThank you! And who bought the harbour?\n</message>'
    ),
    "white space": always(" \n\t " * 50),
    "an empty code fence": always("```\n\n```"),
    "punctuation": always("… . ?! —"),
    "harmony": alike(
        f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>{FERRY}"
    ),
    "a thought that never ends": always(f"<think>{SECRET} {SECRET}"),
    "its sections for ever": alike(f"<say>{FERRY}</say>\n<mood>neutral</mood>\n" * 500),
    "the third person": always(f"Claudius thinks about it. {SECRET}"),
    "the question": Way(answer=asked_in),
}


@dataclass(kw_only=True)
class WeakModel:
    """Model of the server. `requests` are the received bodies, oldest first."""

    answer: Callable[[Request], str]
    heeds_bounds: bool = True
    refuses_beginnings: bool = False
    """True if requests that end with an assistant's message are refused."""
    is_away: bool = False
    requests: list[Request] = field(default_factory=list)
    _ids: Any = field(default_factory=lambda: count(1))

    def mount(self, app: web.Application) -> None:
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_get("/v1/models", self._models)

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "weak", "object": "model"}]})

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        if self.is_away:
            return web.Response(status=503, text="Loading model")
        if self.refuses_beginnings and asked["messages"][-1]["role"] == "assistant":
            said = "This model does not support assistant message prefill."
            return web.json_response(error("invalid_request_error", said, "req_1"), status=400)
        self.requests.append(asked)
        text = self.answer(asked)
        reason = "end_turn"
        if self.heeds_bounds and len(text) > asked["max_tokens"] * CHARACTERS:
            text, reason = text[: asked["max_tokens"] * CHARACTERS], "max_tokens"
        take = AnswerTake(
            id=f"msg_{next(self._ids)}",
            model=asked["model"],
            text=text,
            stop_reason=reason,
            stop_sequence="",
            thinks=False,
            counted=COUNTED,
        )
        stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await stream.prepare(request)
        for event in opening(take):
            await stream.write(frame(event))
        for number, piece in enumerate(chunks(text, 20)):
            await stream.write(frame(delta(take, piece)))
            if number % 50 == 0:
                await asyncio.sleep(0)
        for event in closing(take):
            await stream.write(frame(event))
        return stream


@asynccontextmanager
async def serving(model: WeakModel) -> AsyncIterator[str]:
    app = web.Application(client_max_size=2**24)
    model.mount(app)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()
