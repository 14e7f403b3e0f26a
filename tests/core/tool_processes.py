"""Run with tools of a server: one that reads, one that writes after an approval."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from daemon.app.discovery import PROCESSES
from daemon.engine.event import Entry, of_kind
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS, ActionObserved, ActionStarted
from daemon.memory import WorkingMemory
from daemon.model import ModelReply
from daemon.playbooks.run import PlaybookRun, play_to_end
from daemon.process import Transition, Turn
from daemon.processes.problem_solving import NAME
from daemon.prompts.prompt_catalogue import PLAYBOOK_FOLDER, parse_playbook
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.elicitation import ToolQuestions
from daemon.tools.mcp_tools import make_tool_action
from daemon.tools.tool_approvals import ToolApprovals
from daemon.tools.tool_call import AskNow, InputNeeded, ServerState, ToolRequest, ToolResult
from daemon.tools.tool_calls import ToolMeans
from daemon.tools.tool_catalogue import ToolCatalogue
from daemon.turn.turn import Process
from tests.core.file_world import PhaseClock, echo
from tests.core.unusual_processes import check_single_effect
from tests.crashes.json_lines import append_line, read_lines
from tests.crashes.kill_points import KillPoint
from tests.crashes.worker_runs import count_runs

ROUNDS = 8
SIZE: Mapping[str, Any] = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Which size?",
        "requestedSchema": {
            "type": "object",
            "properties": {"size": {"type": "string", "enum": ["S", "L"]}},
            "required": ["size"],
        },
    },
}
"""Request of the shop in the scenario in which it asks people."""
APPROVED = (
    "<@U9>, may I call the tool *shop.order* of the server *shop*? Asked for by: Alice."
    "\n```\ncups: 3\n```\n[Alice chose “Approve”]"
)
SIZE_GIVEN = (
    "Alice, <@U9>, *shop.order* of the server *shop* needs something from you before it goes on. In its own"
    " words:\n```\nasks: Which size?\n```\n[Alice chose “L”]"
)
UNKNOWN = (
    "I called *shop.order*, and nobody knows whether it was done: I was interrupted, or no answer came. I"
    " have not tried again. Look first: if I am to do it again, it may be done twice."
)
SHOP = ToolServerSettings(name="shop", command="shop", trusted=True)
CUPS: Mapping[str, Any] = {
    "type": "object",
    "properties": {"cups": {"type": "integer", "minimum": 1}},
    "required": ["cups"],
}
TOOLS = [
    {"name": "order", "description": "Order cups.", "inputSchema": CUPS},
    {
        "name": "stock",
        "description": "Look at the stock.",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    },
]
FEW, ORDER = {"cups": 0}, {"cups": 3}
"""Arguments that do not fit, and those that do."""


class FileShop:
    """Implements ToolServers on files that outlive the daemon."""

    def __init__(self, home: Path, turn: Turn, *, asks: bool = False) -> None:
        self._home = home
        self._asks = asks
        self._turn = turn

    def state_of(self, server: str) -> ServerState:
        return ServerState(name=server, state="ready")

    async def call(
        self, request: ToolRequest, progress: Callable[[str], None], ask: AskNow | None = None
    ) -> ToolResult | InputNeeded:
        await asyncio.sleep(0)
        if request.tool == "stock":
            KillPoint.reach()
            return ToolResult(text="5 cups")
        if self._asks and not request.responses:
            KillPoint.reach()
            return InputNeeded(requests={"size": SIZE}, state="held")
        self._check_intent(request)
        KillPoint.reach()
        size = request.responses["size"]["content"]["size"] if self._asks else ""
        append_line(self._home / "effects.jsonl", {**request.arguments, **({"size": size} if size else {})})
        KillPoint.reach()
        return ToolResult(text=f"ordered {request.arguments['cups']} cups {size}".rstrip())

    async def read_resource(self, server: str, uri: str) -> ToolResult:
        raise NotImplementedError

    def _check_intent(self, request: ToolRequest) -> None:
        known = self._turn.journal.entries_under(self._turn.execution.path)
        begun = [entry.event.args["arguments"] for entry in of_kind(ActionStarted, known) if _is_order(entry)]
        if request.arguments not in begun:
            raise SystemExit(f"the world sees what is not on disk: {request.arguments}")


def _is_order(entry: Entry[Any]) -> bool:
    return bool(entry.event.name == "shop.order")


def shopping_by_size(home: Path) -> Mapping[str, Process]:
    """Choose a tool that asks people."""
    return shopping(home, asks=True)


def shopping_anew(home: Path) -> Mapping[str, Process]:
    """Offer less in later runs, so that a run that is taken up begins anew."""
    return shopping(home, offered=("shop.order", "shop.stock") if count_runs(home) == 1 else ("shop.order",))


def shopping(
    home: Path, *, asks: bool = False, offered: Collection[str] = ("shop.order", "shop.stock")
) -> Mapping[str, Process]:
    """Choose tools of a server in a run."""

    async def conversation(turn: Turn) -> WorkingMemory | Transition:
        catalogue = ToolCatalogue(turn.journal)
        await catalogue.record_list(SHOP, "", TOOLS)
        approvals = ToolApprovals(catalogue=catalogue)
        means = ToolMeans(
            servers=FileShop(home, turn, asks=asks),
            catalogue=catalogue,
            approvals=approvals,
            questions=ToolQuestions(approvals=approvals),
        )
        known = catalogue.offered()
        tools = [make_tool_action(known[name], means) for name in sorted(offered)]
        book = parse_playbook(NAME, turn.text(f"{PLAYBOOK_FOLDER}{NAME}"))
        return await play_to_end(PlaybookRun(turn, book, tools, ROUNDS))

    return {**PROCESSES, "conversation": conversation}


def buying(seen: str, calls: int) -> ModelReply:
    """Look at the stock, order with wrong arguments, then with right ones."""
    if "## Goal" not in seen or "DONE" not in seen:
        return echo(seen, calls)
    if "5 cups" not in seen and "shop.stock" in seen:
        wanted = {"name": "shop.stock", "args": {}}
    elif "at least 1" not in seen:
        wanted = {"name": "shop.order", "args": FEW}
    elif '<result of="shop.order">' not in seen:
        wanted = {"name": "shop.order", "args": ORDER}
    else:
        wanted = {"name": "DONE", "args": {}}
    return ModelReply(outcome="ok", model="echo", text=json.dumps({"why": "", "actions": [wanted]}))


def check_shop(home: Path) -> None:
    """Check that the order was made at most once, with checked arguments, and that its result is known."""
    check_single_effect(home)
    asyncio.run(_check_orders(home))


def check_shop_that_asks(home: Path) -> None:
    """Check that people were asked before the order, which was made at most once."""
    check_single_effect(home)
    assert read_lines(home / "effects.jsonl") in ([], [{**ORDER, "size": "L"}])


async def _check_orders(home: Path) -> None:
    made = read_lines(home / "effects.jsonl")
    async with Journal(home / "journal.db", PhaseClock(9), SOUL_KINDS) as journal:
        begun = [
            one.event.args["arguments"] for one in journal.entries_of_kind(ActionStarted) if _is_order(one)
        ]
        seen = [one.event for one in journal.entries_of_kind(ActionObserved) if _is_order(one)]
    assert begun == [ORDER], f"intended: {begun}"
    assert len(seen) == 1, f"observed: {seen}"
    known = seen[0].text == "ordered 3 cups"
    assert known or "unknown" in seen[0].text, seen
    assert not known or made == [ORDER], "a result without an order"
