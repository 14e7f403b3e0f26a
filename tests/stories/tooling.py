"""A shop whose tools the soul may call: lists as its server sends them, and calls with approval."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from daemon.actions.action import ActionDefinition, RunContext
from daemon.ism import ActionRefused
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.tool_approvals import ToolApprovals
from daemon.tools.tool_catalogue import ToolCatalogue
from rehearsal.people import CAROL
from tests.source import ROOT
from tests.stories.choosing import ASKED, answers, choice, deciding, offering, pressed, questions, turning
from tests.stories.stage import GENERAL, ME, Stage, reply

SHOP = ToolServerSettings(name="shop", command="shop")
TRUSTED = replace(SHOP, trusted=True)
SELL = "shop.sell"


def tool(name: str = "sell", description: str = "Sells it.", **parts: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **parts}


class Sale(BaseModel):
    """What to sell."""

    what: str
    pieces: int = 1


@dataclass
class Groups:
    """User groups; without `members`, Slack is away."""

    members: dict[str, Collection[str]] | None = field(default_factory=dict)

    async def members_of(self, group: str) -> Collection[str] | None:
        return None if self.members is None else self.members.get(group, ())


@dataclass
class Shop:
    """The till of the shop, and the people who may sell."""

    stage: Stage
    groups: Groups = field(default_factory=Groups)
    sold: list[str] = field(default_factory=list)
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of each call."""
    doubtful: bool = False
    """True if an earlier call may have done it."""

    settings: ToolServerSettings = SHOP

    @property
    def catalogue(self) -> ToolCatalogue:
        return self.stage.soul.services.tools.catalogue

    def action(self) -> ActionDefinition:
        async def perform(run: RunContext, sale: Sale) -> str:
            given: Mapping[str, Any] = {**sale.model_dump(), **self.more}
            catalogue = self.catalogue
            offered = catalogue.offered(run.turn.began_seq).get(SELL)
            if offered is None:
                raise ActionRefused("no such tool")
            approvals = ToolApprovals(catalogue=catalogue, groups=self.groups)
            await approvals.obtain_approval(run, offered, given, may_be_done=self.doubtful)

            async def do() -> str:
                self.sold.append(sale.what)
                return "it is sold"

            entry = await run.turn.effect(SELL, {"arguments": given}, do, repeatable=False)
            return entry.event.text

        return ActionDefinition(name=SELL, description="Sells it.", perform=perform, args=Sale)

    async def opens(self, settings: ToolServerSettings = SHOP, *owners: str, **rules: Any) -> None:
        """Start the soul with the shop's tool."""
        ours_into(self.stage)
        offering(self.stage, self.action())
        await deciding(self.stage, owner_user_ids=frozenset(owners or (CAROL.id,)))
        self.settings = replace(settings, **rules)
        await self.lists(self.settings)

    async def lists(self, settings: ToolServerSettings, *tools: dict[str, Any]) -> None:
        """List tools, as a connected server does."""
        await self.catalogue.record_list(settings, "2026-07-28", tools or [tool()])

    async def asked(self, name: str = "alice", channel: str = GENERAL, what: str = "a cake") -> str:
        """Have the soul choose to sell something; return the ts of the message."""
        answers(self.stage, turning(), selling(what))
        text = ASKED if channel.startswith("D") else f"{ME} {ASKED}"
        return await self.stage.say(name, channel, text)

    async def accepts(self) -> None:
        """Accept whatever waits, as an owner does on the page."""
        for waiting in self.catalogue.waiting():
            await self.catalogue.accept(waiting.offered.name, waiting.offered.tool.digest, CAROL.id)

    async def asked_and_done(self, name: str, channel: str = GENERAL, what: str = "a cake") -> None:
        """Have it sold without a question."""
        before = len(questions(self.stage))
        answers(self.stage, turning(), selling(what), choice("Respond"), reply("Sold."))
        await self.stage.say(name, channel, f"{ME} {ASKED}")
        assert len(questions(self.stage)) == before

    async def allowed(self, name: str = "carol") -> None:
        """Have a cake sold, and further sales allowed for good."""
        await self.asked()
        answers(self.stage, choice("Respond"), reply("Sold."))
        await pressed(self.stage, name, "Always in this channel")


def ours_into(stage: Stage) -> None:
    """Use the project's own labels, which the tests' copy lacks."""
    labels = stage.words / "prompts" / "labels.md"

    labels.write_text((ROOT / "prompts" / "labels.md").read_text())


def selling(what: str = "a cake", pieces: int = 1) -> str:
    return choice({"name": SELL, "args": {"what": what, "pieces": pieces}})
