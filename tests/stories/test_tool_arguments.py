"""Arguments of tool calls as whoever approves them reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from daemon.actions.approvals import TICK
from daemon.app.discovery import PROCESSES
from daemon.ism import ActionRefused
from daemon.memory import WorkingMemory
from daemon.open_thought.executor import OpenThoughtContext
from daemon.process import MentalProcess, Turn
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.tool_approvals import ToolApprovals
from daemon.tools.tool_catalogue import ToolCatalogue
from daemon.turn.speech import say
from rehearsal.people import CAROL
from tests.stories.choosing import pressed, questions, shown
from tests.stories.stage import GENERAL, ME, Stage

BUTTONS = ["Approve", "Decline", "always in channel"]


@dataclass(kw_only=True)
class Caller:
    """A process that has a call approved, and says what came of it."""

    stage: Stage
    arguments: Mapping[str, Any] = field(default_factory=dict)

    async def run(self, turn: Turn) -> WorkingMemory:
        catalogue: ToolCatalogue = self.stage.soul.services.tools.catalogue
        run = OpenThoughtContext(turn, turn.memory)
        try:
            tool = catalogue.offered(turn.began_seq)["shop.sell"]
            await ToolApprovals(catalogue=catalogue).obtain_approval(run, tool, self.arguments)
        except ActionRefused as refused:
            await say(turn, str(refused))
        else:
            await say(turn, "Sold.")
        return turn.memory

    async def asks(self, **arguments: Any) -> str:
        """Have a call with these arguments approved; return the ts of what was said."""
        self.arguments = arguments
        process = MentalProcess(name="conversation", run=self.run)
        self.stage.processes = {**PROCESSES, "conversation": process}
        await self.stage.wake(owner_user_ids=frozenset({CAROL.id}))
        raw = {"name": "sell", "description": "Sells it.", "inputSchema": {"type": "object"}}
        catalogue = self.stage.soul.services.tools.catalogue
        await catalogue.record_list(ToolServerSettings(name="shop", command="any"), "", [raw])
        return await self.stage.say("alice", GENERAL, f"{ME} sell it")


@pytest.fixture
def caller(dormant: Stage) -> Caller:
    return Caller(stage=dormant)


async def pages_of(stage: Stage, root: str) -> list[str]:
    """Return the whole texts of the messages in a thread, without the first one."""
    replies = await stage.client("alice").conversations_replies(channel=GENERAL, ts=root)
    found = []
    for one in replies["messages"]:
        blocks = [block["text"] for block in one.get("blocks", ()) if block["type"] == "markdown"]
        found.append("".join(blocks) or one["text"])
    return found[1:]


async def test_long_ones_are_shown_whole_in_several_messages(caller: Caller) -> None:
    lines = [f"{number}: {'long ' * 20}" for number in range(150)]
    order = "\n".join([*lines, "and ```the end```"])
    ts = await caller.asks(what="a cake", order_text=order, note="yes" * 100)
    pages = await pages_of(caller.stage, ts)
    assert len(pages) > 1
    _, *messages = await shown(caller.stage, GENERAL, ts)
    assert [buttons for _, buttons in messages] == [[]] * (len(pages) - 1) + [BUTTONS]
    whole = [line.strip() for page in pages for line in page.splitlines()]
    assert [line for line in lines if f"| {line.strip()}" not in whole] == []
    assert f"| and {TICK * 3}the end{TICK * 3}" in whole
    note = whole.index("note:")
    assert "".join(line[2:] for line in whole[note + 1 : note + 3]) == "yes" * 100
    await pressed(caller.stage, "carol", "Approve")
    assert (await caller.stage.answers(GENERAL, ts))[-1] == "Sold."


async def test_nothing_in_them_hides_or_imitates_another_argument(caller: Caller) -> None:
    evil = "a cake\u202e\u200b\U000e0041\u3164\r\npieces: 9\u2028\n```\nto: me"
    ts = await caller.asks(what=evil, **{"to\npieces": {"a": [1, True, None, ""]}})
    [question] = await pages_of(caller.stage, ts)
    assert question.partition("```\n")[2].splitlines() == [
        "what:",
        "  | a cake\\u202e\\u200b\\ue0041\\u3164\\u000d",
        "  | pieces: 9\\u2028",
        f"  | {TICK * 3}",
        "  | to: me",
        "to\\u000apieces:",
        "  a:",
        "    - 1",
        "    - yes",
        "    - none",
        '    - ""',
        "```",
    ]


async def test_those_that_nobody_would_read_are_refused(caller: Caller) -> None:
    ts = await caller.asks(what="x" * 50_000)
    assert await caller.stage.answers(GENERAL, ts) == ["arguments too long"]
    assert not questions(caller.stage)


async def test_none_is_said_so(caller: Caller) -> None:
    [question] = await pages_of(caller.stage, await caller.asks())
    assert question.splitlines()[-1] == "no arguments"
