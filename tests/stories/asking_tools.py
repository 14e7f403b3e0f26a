"""A soul whose conversation is a run with the tools of a café that asks people."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daemon.app.discovery import PROCESSES
from daemon.memory import WorkingMemory
from daemon.playbooks.built_in import respond
from daemon.playbooks.run import PlaybookRun, play_to_end
from daemon.process import Transition, Turn
from daemon.processes.problem_solving import NAME
from daemon.prompts.prompt_catalogue import PLAYBOOK_FOLDER, parse_playbook
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.elicitation import ToolQuestions
from daemon.tools.mcp_tools import make_tool_action
from daemon.tools.servers import ConnectedServers
from daemon.tools.tool_approvals import ToolApprovals
from daemon.tools.tool_calls import ToolMeans
from daemon.tools.tool_catalogue import ToolCatalogue
from daemon.turn.turn import Process
from tests.attention import until
from tests.stories.choosing import IDS, choice, press, questions
from tests.stories.stage import Stage, reply
from tests.tools.connected import connected

CAFE = Path(__file__).parents[1] / "tools" / "servers" / "cafe_server.py"
ROUNDS = 8
CALL = "An order, please"


@dataclass(kw_only=True)
class Cafe:
    """The stage and the café, which ends and starts with the daemon."""

    stage: Stage
    folder: Path
    settings: ToolServerSettings
    _servers: ConnectedServers | None = None
    _life: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def open(self) -> None:
        bench = await self._life.enter_async_context(connected(self.folder, self.settings))
        await bench.until("cafe", "ready")
        self._servers, self._lists = bench.servers, bench.lists
        self.stage.processes = self._processes()
        await self.stage.wake(ism_enabled=True)

    async def close(self) -> None:
        await self.stage.sleep()
        await self._life.aclose()
        self._life = AsyncExitStack()

    async def restart(self) -> None:
        await self.close()
        await self.open()

    def _processes(self) -> Mapping[str, Process]:
        async def conversation(turn: Turn) -> WorkingMemory | Transition:
            catalogue = ToolCatalogue(turn.journal)
            await catalogue.record_list(*self._lists[-1])
            tools = [make_tool_action(one, self._means(catalogue)) for one in catalogue.offered().values()]
            book = parse_playbook(NAME, turn.text(f"{PLAYBOOK_FOLDER}{NAME}"))
            return await play_to_end(PlaybookRun(turn, book, [respond.definition(), *tools], ROUNDS))

        return {**PROCESSES, "conversation": conversation}

    def _means(self, catalogue: ToolCatalogue) -> ToolMeans:
        assert self._servers
        approvals = ToolApprovals(catalogue=catalogue)
        asking = ToolQuestions(approvals=approvals)
        return ToolMeans(
            servers=self._servers,
            newest=catalogue.newest,
            approve=approvals.obtain_approval,
            answer_input=asking.answer_input,
            ask_during_call=asking.ask_during_call,
        )

    def told(self) -> list[dict[str, Any]]:
        """Return what the café heard: calls with their state, and answers."""
        heard = self.folder / "heard.jsonl"
        return [json.loads(line) for line in heard.read_text().splitlines()] if heard.exists() else []

    def answers(self) -> list[Any]:
        return [one["answers"] for one in self.told() if "done" in one]

    def chooses(self, tool: str, say: str = "Here you are.") -> None:
        """Queue the choice of a tool, and the reply after its result."""
        self.stage.model.say(choice({"name": f"cafe.{tool}", "args": {}}))
        self.goes_on(say)

    def goes_on(self, say: str = "Here you are.") -> None:
        self.stage.model.say(choice({"name": "Respond"}))
        self.stage.model.say(reply(say))

    async def opened(self, name: str, label: str = "Fill in") -> dict[str, Any]:
        """Open the form of the pending question; return its view."""
        channel, ts = await self.question()
        known = len(self.stage.world.workspace.views.shown)
        await press(self.stage, name, channel, ts, label)
        await until(lambda: len(self.stage.world.workspace.views.shown) > known)
        return self.stage.world.workspace.views.shown[-1].view

    async def question(self) -> tuple[str, str]:
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
async def cafe(stage: Stage, folder: Path, *args: str, **rules: Any) -> AsyncIterator[Cafe]:
    """Run the soul with a café; it is called without asking unless the rules say otherwise."""
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    settings = ToolServerSettings(
        name="cafe",
        command=sys.executable,
        args=("-I", "-S", "-B", str(CAFE), *args),
        env={"HEARD": str(folder / "heard.jsonl")},
        **{"approval": (("*", "never"),), **rules},
    )
    here = Cafe(stage=stage, folder=folder, settings=settings)
    stage.settings["owner_user_ids"] = frozenset({IDS["carol"]})
    await here.open()
    try:
        yield here
    finally:
        await here.close()
