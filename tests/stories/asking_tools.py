"""A soul with the tools of a café that asks people, over stdio."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daemon.kinds import TOOLS, ToolsListed
from tests.attention import until
from tests.stories.choosing import IDS, answers, choice, press, questions
from tests.stories.stage import GENERAL, ME, Stage, reply
from tests.stories.tool_shelf import ERRAND, ON_IT, using, write_servers

CAFE = Path(__file__).parents[1] / "tools" / "servers" / "cafe_server.py"
DONE = "Here you are."


@dataclass(kw_only=True)
class Cafe:
    """The stage, and the café as the owner configured it. `args` say how its server behaves."""

    stage: Stage
    args: tuple[str, ...]
    rules: Mapping[str, Any] = field(default_factory=dict)

    async def open(self) -> None:
        server = {
            "command": sys.executable,
            "args": ["-I", "-S", "-B", str(CAFE), *self.args],
            "env": {"HEARD": str(self._heard)},
            "soul": {"approval": "never", **self.rules},
        }
        write_servers(self.stage.words, cafe=server)
        await self.stage.wake(ism_enabled=True, owner_user_ids=frozenset({IDS["carol"]}))
        await until(lambda: self.stage.soul.journal.thread_entries(TOOLS, ToolsListed))
        servers = self.stage.soul.services.tools.connected
        await until(lambda: servers.state_of("cafe").state == "ready")

    async def restart(self) -> None:
        await self.stage.sleep()
        await self.open()

    @property
    def _heard(self) -> Path:
        return self.stage.home / "heard.jsonl"

    def told(self) -> list[dict[str, Any]]:
        """Return what the café heard: calls with their state, and answers."""
        return [json.loads(line) for line in self._heard.read_text().splitlines()]

    def answers(self) -> list[Any]:
        return [one["answers"] for one in self.told() if "done" in one]

    def chooses(self, tool: str) -> None:
        """Queue the choice of a tool, and the reply after its result."""
        answers(self.stage, ON_IT, choice(using(f"cafe.{tool}")), choice("Respond"), reply(DONE))

    async def called(self, tool: str, channel: str) -> str:
        """Have Alice ask for a call, and settle; return the ts of the conversation."""
        self.chooses(tool)
        mention = f"{ME} " if channel == GENERAL else ""
        return await self.stage.say("alice", channel, f"{mention}{ERRAND}")

    async def opened(self, name: str, label: str = "Fill in") -> dict[str, Any]:
        """Open the form of the pending question; return its view."""
        channel, ts = self.question()
        known = len(self.stage.world.workspace.views.shown)
        await press(self.stage, name, channel, ts, label)
        await until(lambda: len(self.stage.world.workspace.views.shown) > known)
        return self.stage.world.workspace.views.shown[-1].view

    def question(self) -> tuple[str, str]:
        """Return the channel and ts of the pending question."""
        [asked] = questions(self.stage)
        *_, spoken = self.stage.soul.journal.entries_at(asked.event.said)
        opened = self.stage.entries("thread")[-1]
        return str(opened.event.channel), str(spoken.event.ts)

    async def sent(self, name: str, view: dict[str, Any], *entered: Any) -> dict[str, Any]:
        """Send a form with these values, in the order of its fields."""
        values = {f"field-{place}": value for place, value in enumerate(entered)}
        asked = {"user": IDS[name], "view": view["id"], "values": values}
        async with self.stage.session.post(f"{self.stage.url}/rehearsal/submit", json=asked) as response:
            done: dict[str, Any] = await response.json()
        return done


@asynccontextmanager
async def cafe(stage: Stage, *args: str, **rules: Any) -> AsyncIterator[Cafe]:
    """Run the soul with a café; it is called without asking unless the rules say otherwise."""
    here = Cafe(stage=stage, args=args, rules=rules)
    await here.open()
    yield here
