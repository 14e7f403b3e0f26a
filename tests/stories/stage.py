"""The stage of the stories: a rehearsed world on a real port, and the whole daemon in it."""

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
"""Words in a request over which a model may refuse it."""
GENERAL, RANDOM = "C0GENERAL01", "C0RANDOM002"
ALICE, BOB, CAROL = "D0ALICE0001", "D0BOB000001", "D0CAROL0001"
"""The soul's DMs with each of the people."""
ME = f"<@{SOUL.user}>"
ALL = 100_000
"""More entries than any story writes."""


@dataclass(kw_only=True)
class Stage:
    """A world, its model, and the soul that lives in it now."""

    url: str
    world: LocalSlack
    model: ClaudeUnderstudy
    clock: FakeClock
    wire: Wire
    """What of Slack's Web API is to fail."""
    session: ClientSession
    home: Path
    words: Path
    settings: dict[str, Any] = field(default_factory=dict)
    processes: Mapping[str, Process] | None = None
    """How the soul behaves, if it is not as its settings say."""
    sandbox: Open | None = None
    """Where cells run, if it is not as its settings say."""
    writer: type[CountedWriter] = CountedWriter
    _soul: RunningDaemon | None = None
    _life: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def soul(self) -> RunningDaemon:
        assert self._soul is not None, "the soul is asleep"
        return self._soul

    async def wake(self, **settings: Any) -> None:
        """Start the daemon, with these settings besides."""
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
        )
        self._soul = await self._life.enter_async_context(start)
        await self._soul.worker.sweep()

    async def sleep(self) -> None:
        """Stop the daemon as SIGTERM does."""
        await self._life.aclose()
        self._life, self._soul = AsyncExitStack(), None

    def client(self, name: str) -> AsyncWebClient:
        """The ordinary Slack client of one of the people."""
        return AsyncWebClient(token=f"xoxp-{name}", base_url=f"{self.url}/api/", session=self.session)

    async def post(self, name: str, channel: str, text: str, root: str | None = None) -> str:
        """Someone says something; returns its ts."""
        said = await self.client(name).chat_postMessage(channel=channel, text=text, thread_ts=root)
        return str(said["ts"])

    async def say(self, name: str, channel: str, text: str, root: str | None = None) -> str:
        """Someone says something, and what comes of it is over; returns its ts."""
        ts = await self.post(name, channel, text, root)
        await self.settled()
        return ts

    async def health(self) -> tuple[int, dict[str, Any]]:
        """What /healthz says."""
        async with self.session.get(f"{self.soul.url}/healthz") as answer:
            return answer.status, await answer.json()

    def prompt(self, nth: int = -1) -> list[tuple[str, str]]:
        """The conversation of the nth request, block by block, without what trails it."""
        messages = self.model.requests[nth]["messages"]
        blocks = [(m["role"], block["text"]) for m in messages for block in m["content"]]
        return blocks[:-1]

    def seen(self, nth: int = -1) -> dict[str, Any]:
        """What the model saw of the nth request: all of it but how its answer is sent, and where it ends."""
        request = self.model.requests[nth]
        return {key: value for key, value in request.items() if key not in ("stream", "stop_sequences")}

    async def settled(self, patience: float = PATIENCE) -> None:
        """Everything that was sent is acked, and no turn is running or due."""
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
        """Until this is so."""
        await until(there)
        await self.clock.advance(0)  # whoever is on its way goes to the end of it

    async def passing(self, step: float, there: Callable[[], object]) -> None:
        """Until this is so, let time pass in steps of so many seconds, each when nobody can go on without."""
        async with asyncio.timeout(PATIENCE):
            await rest()
            while not there():
                await self.clock.advance(step)
                await self.soul.worker.sweep()
                await rest()

    def entries(self, *kinds: str) -> list[Entry[Any]]:
        """The journal, or what is of these kinds; "input" are all that a thread takes up."""
        journal = self.soul.journal
        if not kinds:
            return journal.entries_since(0, limit=ALL)
        named = {*kinds}
        if "input" in kinds:
            named.update(journal.kinds.kind_names([Input]))
        meant = [head.seq for head in journal.heads_since(0, limit=ALL) if head.kind in named]
        return journal.readable_entries(meant)

    def undone(self) -> list[Entry[Any]]:
        """What waits for a turn, or for its end, but for turns that wait until a model can be reached."""
        waiting = self.soul.journal.pending_entries(Input, TurnBegan)
        return [entry for entry in waiting if not self.soul.worker.is_asleep(entry.thread)]

    def pending(self, *kinds: str) -> list[Entry[Any]]:
        """What of these kinds waits for a later entry that closes it."""
        every = self.entries(*kinds)
        still = self.soul.journal.still_pending([entry.seq for entry in every])
        return [entry for entry in every if entry.seq in still]

    async def thread(self, channel: str, ts: str) -> list[tuple[str, str]]:
        """Who said what in this thread, as everybody sees it."""
        replies = await self.client("alice").conversations_replies(channel=channel, ts=ts)
        names = {SOUL.user: "Claudius", "U0ALICE0001": "Alice", "U0BOB000002": "Bob", "U0CAROL0003": "Carol"}
        return [(names.get(m["user"], m["user"]), m["text"]) for m in replies["messages"]]

    async def answers(self, channel: str, ts: str) -> list[str]:
        """What the soul said in this thread. In a DM, ask as the one whose DM it is."""
        name = {BOB: "bob", CAROL: "carol"}.get(channel, "alice")
        replies = await self.client(name).conversations_replies(channel=channel, ts=ts)
        return [m["text"] for m in replies["messages"] if m["user"] == SOUL.user]

    def unsent(self) -> list[str]:
        """The words that the model should not have been sent, but was."""
        sent = str([*self.model.requests]).casefold()
        return [word for word in UNSENT if word in sent]

    @property
    def tags(self) -> SectionTags:
        """How the tags of sections are written in this installation."""
        [drawn] = self.entries("tag-suffix")
        return SectionTags(suffix=drawn.event.suffix)

    def told(self) -> list[str]:
        """What the model was told in its system text, as one text a request."""
        return [str(request.get("system", "")) for request in self.model.requests]

    def asked(self) -> list[str]:
        """What the model was asked last, as one text a request."""
        return [str(request["messages"]) for request in self.model.requests]


def reply(say: str, aside: str = "Private thoughts.", mood: str = "neutral") -> str:
    """An answer of the model in the form that it is asked for."""
    return f"<aside>{aside}</aside>\n<say>{say}</say>\n<mood>{mood}</mood>"


@asynccontextmanager
async def staged(folder: Path, texts: Callable[[Path], Path] = copied) -> AsyncIterator[Stage]:
    """A world with nobody in it yet; `wake` brings the soul, which has these texts."""
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
