"""Floor of `speech` and `crowd`: a bot of forty lines, without storage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import ClientSession
from slack_sdk.web.async_client import AsyncWebClient

from benchmarks.bare import sdk, texts
from benchmarks.instant import MODEL
from rehearsal.people import ALICE, ECHO

ENOUGH = 256
"""New characters per update, as in slack_sdk's streams."""


@asynccontextmanager
async def bot(town: str, model: str, session: ClientSession) -> AsyncIterator[None]:
    slack = AsyncWebClient(token=ECHO.bot_token, base_url=f"{town}/api/", session=session)
    opened = await slack.apps_connections_open(app_token=ECHO.app_token)
    answers = set[asyncio.Task[None]]()
    async with sdk(model) as claude, session.ws_connect(opened["url"]) as socket:

        async def listen() -> None:
            async for frame in socket:
                envelope = frame.json()
                if envelope["type"] == "events_api":
                    await socket.send_json({"envelope_id": envelope["envelope_id"]})
                    task = asyncio.create_task(answer(envelope["payload"]["event"]))
                    answers.add(task)
                    task.add_done_callback(answers.discard)

        async def answer(event: dict[str, str]) -> None:
            if event.get("user") != ALICE.id:
                return
            request = {"max_tokens": 100, "messages": [{"role": "user", "content": event["text"]}]}
            channel, ts, new = event["channel"], "", ""
            async for text in texts(claude, {"model": MODEL, **request}):
                new += text
                if not ts:
                    begun = await slack.chat_startStream(
                        channel=channel, thread_ts=event["ts"], markdown_text=new
                    )
                    ts, new = str(begun["ts"]), ""
                elif len(new) >= ENOUGH:
                    await slack.chat_appendStream(channel=channel, ts=ts, markdown_text=new)
                    new = ""
            await slack.chat_stopStream(channel=channel, ts=ts, markdown_text=new or None)

        listening = asyncio.create_task(listen())
        try:
            yield
        finally:
            listening.cancel()
            for task in answers:
                task.cancel()
            await asyncio.gather(listening, *answers, return_exceptions=True)
