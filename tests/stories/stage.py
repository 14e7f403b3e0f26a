"""Rehearsed world on a real port, with the whole daemon."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, web
from slack_sdk.web.async_client import AsyncWebClient

from config import Settings
from daemon.app.daemon import RunningDaemon, start_daemon
from daemon.engine.event import Entry, Input
from daemon.engine.kinds import TurnBegan
from daemon.ports import Open
from daemon.prompts.elements import SectionTags
from daemon.tools.tool_call import ToolServers
from daemon.turn.turn import Process
from rehearsal.claude.understudy import ClaudeUnderstudy
from rehearsal.local_slack import LocalSlack
from rehearsal.people import SOUL
from tests.attention import PATIENCE as PATIENCE
from tests.attention import CountedWriter, rest, until
from tests.clock import FakeClock, TrueClock
from tests.signed_in import SHOWN, known_in
from tests.slack.wire import Wire
from tests.texts import copied

UNSENT = ("reasoning", "chain of thought", "<thinking")
"""Words over which a model may refuse a request."""
GENERAL, RANDOM = "C0GENERAL01", "C0RANDOM002"
ALICE, BOB, CAROL = "D0ALICE0001", "D0BOB000001", "D0CAROL0001"
ME = f"<@{SOUL.user}>"
ALL = 100_000


@dataclass(kw_only=True)
class Stage:
    """World, model and current daemon."""

    url: str
    world: LocalSlack
    model: ClaudeUnderstudy
    clock: FakeClock
    wire: Wire
    """Faults of Slack's Web API."""
    session: ClientSession
    home: Path
    words: Path
    settings: dict[str, Any] = field(default_factory=dict)
    processes: Mapping[str, Process] | None = None
    sandbox: Open | None = None
    servers: ToolServers | None = None
    writer: type[CountedWriter] = CountedWriter
    _soul: RunningDaemon | None = None
    _life: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def soul(self) -> RunningDaemon:
        assert self._soul is not None, "the soul is asleep"
        return self._soul

    async def wake(self, **settings: Any) -> None:
        """Start the daemon, adding settings."""
        self.settings |= settings
        values: dict[str, Any] = {
            "slack_bot_token": SOUL.bot_token,
            "slack_app_token": SOUL.app_token,
            "slack_api_url": f"{self.url}/api/",
            "anthropic_api_key": "any",
            "anthropic_base_url": self.url,
            "port": 0,
            "soul_home": self.home,
            **self.settings,
        }
        known_in(values["soul_home"])
        start = start_daemon(
            Settings(**values),
            self.clock,
            self.words,
            grace=0.2,
            processes=self.processes,
            writer=self.writer,
            sandbox=self.sandbox,
            servers=self.servers,
        )
        self._soul = await self._life.enter_async_context(start)
        await self._soul.worker.sweep()

    async def sleep(self) -> None:
        """Stop like SIGTERM."""
        await self._life.aclose()
        self._life, self._soul = AsyncExitStack(), None

    def client(self, name: str) -> AsyncWebClient:
        return AsyncWebClient(token=f"xoxp-{name}", base_url=f"{self.url}/api/", session=self.session)

    async def post(self, name: str, channel: str, text: str, root: str | None = None) -> str:
        """Post a message; return the ts."""
        said = await self.client(name).chat_postMessage(channel=channel, text=text, thread_ts=root)
        return str(said["ts"])

    async def say(self, name: str, channel: str, text: str, root: str | None = None) -> str:
        """Post a message and settle; return the ts."""
        ts = await self.post(name, channel, text, root)
        await self.settled()
        return ts

    async def health(self) -> tuple[int, dict[str, Any]]:
        async with self.session.get(f"{self.soul.url}/healthz") as answer:
            return answer.status, await answer.json()

    def prompt(self, nth: int = -1) -> list[tuple[str, str]]:
        """Return (role, text) blocks of the nth request, without trailing ones."""
        messages = self.model.requests[nth]["messages"]
        blocks = [(m["role"], block["text"]) for m in messages for block in m["content"]]
        return blocks[:-1]

    def seen(self, nth: int = -1) -> dict[str, Any]:
        """Return the nth request without transport fields."""
        request = self.model.requests[nth]
        return {key: value for key, value in request.items() if key not in ("stream", "stop_sequences")}

    async def settled(self, patience: float = PATIENCE) -> None:
        """Wait until all events are acked and no turn runs or is due."""
        try:
            async with asyncio.timeout(patience):
                await self.until(self._is_settled)
        except TimeoutError:
            undone = ", ".join(entry.key for entry in self.undone())
            raise AssertionError(
                f"not over, and it may wait for time to pass (see passing): {undone}"
            ) from None

    def _is_settled(self) -> bool:
        if self.soul.worker.is_busy or self.soul.slack.speaker.busy:
            return False
        if self.world.workspace.courier.counts(SOUL.id)["unacked"]:
            return False
        return not self.undone()

    async def until(self, there: Callable[[], object]) -> None:
        await until(there)
        await self.clock.advance(0)  # started work finishes

    async def passing(self, step: float, there: Callable[[], object]) -> None:
        """Let time pass in steps, each at rest, until the condition holds."""
        async with asyncio.timeout(PATIENCE):
            await rest()
            while not there():
                await self.clock.advance(step)
                await self.soul.worker.sweep()
                await rest()

    def entries(self, *kinds: str) -> list[Entry[Any]]:
        """Return entries of these kinds or all; "input" names all inputs."""
        journal = self.soul.journal
        if not kinds:
            return journal.entries_since(0, limit=ALL)
        named = {*kinds}
        if "input" in kinds:
            named.update(journal.kinds.kind_names([Input]))
        meant = [head.seq for head in journal.heads_since(0, limit=ALL) if head.kind in named]
        return journal.readable_entries(meant)

    def undone(self) -> list[Entry[Any]]:
        """Return pending inputs and turns, except those in an outage."""
        waiting = self.soul.journal.pending_entries(Input, TurnBegan)
        return [entry for entry in waiting if not self.soul.worker.is_asleep(entry.thread)]

    def pending(self, *kinds: str) -> list[Entry[Any]]:
        """Return unclosed entries."""
        every = self.entries(*kinds)
        still = self.soul.journal.still_pending([entry.seq for entry in every])
        return [entry for entry in every if entry.seq in still]

    async def thread(self, channel: str, ts: str) -> list[tuple[str, str]]:
        replies = await self.client("alice").conversations_replies(channel=channel, ts=ts)
        names = {SOUL.user: "Claudius", "U0ALICE0001": "Alice", "U0BOB000002": "Bob", "U0CAROL0003": "Carol"}
        return [(names.get(m["user"], m["user"]), m["text"]) for m in replies["messages"]]

    async def answers(self, channel: str, ts: str) -> list[str]:
        """Return the soul's texts in a thread, read as the DM's owner."""
        name = {BOB: "bob", CAROL: "carol"}.get(channel, "alice")
        replies = await self.client(name).conversations_replies(channel=channel, ts=ts)
        return [m["text"] for m in replies["messages"] if m["user"] == SOUL.user]

    def unsent(self) -> list[str]:
        """Return UNSENT words that were sent."""
        sent = str([*self.model.requests]).casefold()
        return [word for word in UNSENT if word in sent]

    @property
    def tags(self) -> SectionTags:
        [drawn] = self.entries("tag-suffix")
        return SectionTags(suffix=drawn.event.suffix)

    def told(self) -> list[str]:
        """Return the system text of each request."""
        return [str(request.get("system", "")) for request in self.model.requests]

    def asked(self) -> list[str]:
        """Return the messages of each request as text."""
        return [str(request["messages"]) for request in self.model.requests]


def reply(say: str, aside: str = "Private thoughts.", mood: str = "neutral") -> str:
    return f"<aside>{aside}</aside>\n<say>{say}</say>\n<mood>{mood}</mood>"


@asynccontextmanager
async def staged(folder: Path, texts: Callable[[Path], Path] = copied) -> AsyncIterator[Stage]:
    """Yield a world; `wake` starts the soul with these texts."""
    clock, wire = FakeClock(), Wire()
    app = web.Application(client_max_size=2**24, middlewares=[wire.middleware])
    words = texts(folder / "words")
    async with (
        LocalSlack(folder / "rehearsal.db", TrueClock(clock)) as world,
        ClientSession(headers=SHOWN) as session,
    ):
        world.mount(app)
        model = ClaudeUnderstudy(clock, pace=0)
        model.mount(app)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        stage = Stage(
            url=f"http://{host}:{port}",
            world=world,
            model=model,
            clock=clock,
            wire=wire,
            session=session,
            home=folder / "home",
            words=words,
        )
        try:
            yield stage
        finally:
            await stage.sleep()
            await runner.cleanup()
