"""A shop whose tools the soul may call: a real server over stdio, which changes them at any time."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daemon.tools.tool_catalogue import ToolCatalogue
from rehearsal.people import CAROL
from tests.attention import until
from tests.source import ROOT
from tests.stories.choosing import answers, choice, pressed, questions
from tests.stories.stage import GENERAL, ME, Stage, reply
from tests.stories.tool_shelf import ERRAND, ON_IT, take_playbooks, using, write_servers

SELL = "shop.sell"
SERVER = Path(__file__).parents[1] / "tools" / "servers" / "shop_server.py"
SALE = {
    "type": "object",
    "properties": {"what": {"type": "string"}, "pieces": {"type": "integer"}},
    "required": ["what"],
}


def tool(name: str = "sell", description: str = "Sells it.", **parts: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": SALE, **parts}


def selling(what: str = "a cake") -> str:
    return choice(using(SELL, what=what, pieces=1))


@dataclass(kw_only=True)
class Shop:
    """The shop, and how the soul comes to know it."""

    stage: Stage
    rules: Mapping[str, Any] = field(default_factory=dict)

    @property
    def catalogue(self) -> ToolCatalogue:
        return self.stage.soul.services.tools.catalogue

    @property
    def sold(self) -> list[str]:
        """What the server was told to sell."""
        path = self._file("sold")
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line)["arguments"]["what"] for line in lines]

    def _file(self, name: str) -> Path:
        return self.stage.words.parent / f"shop-{name}"

    async def opens(
        self, *owners: str, tools: tuple[dict[str, Any], ...] = (), mcp_server: str = "off", **rules: Any
    ) -> None:
        """Start the soul with the shop, which sells; `rules` are the owner's."""
        words = self.stage.words
        take_playbooks(self.stage)
        (words / "prompts" / "labels.md").write_text((ROOT / "prompts" / "labels.md").read_text())
        self._file("tools").write_text(json.dumps(tools or [tool()]))
        env = {name.upper(): str(self._file(name)) for name in ("tools", "sold", "told")}
        server = {
            "command": sys.executable,
            "args": ["-I", "-S", "-B", str(SERVER)],
            "env": env,
            "soul": rules,
        }
        write_servers(words, shop=server)
        owned = {"owner_user_ids": frozenset(owners or (CAROL.id,))}
        await self.stage.wake(ism_enabled=True, mcp_server=mcp_server, **owned)
        await self.is_open()

    async def is_open(self) -> None:
        """Wait until the soul has listed the tools, and follows the server."""
        state_of = self.stage.soul.services.tools.connected.state_of
        await until(lambda: state_of("shop").state == "ready")
        await until(lambda: self._pid())

    def _pid(self) -> int:
        path = self._file("told")
        return int(path.read_text() or 0) if path.exists() else 0

    async def again(self, **settings: Any) -> None:
        """Restart the soul."""
        await self.stage.sleep()
        self._file("told").unlink(missing_ok=True)
        await self.stage.wake(**settings)
        await self.is_open()

    def puts(self, *tools: dict[str, Any]) -> None:
        """Give the server other tools, of which it does not tell."""
        self._file("tools").write_text(json.dumps(tools))

    async def lists(self, *tools: dict[str, Any]) -> None:
        """Have the server change its tools, and wait until the soul has heard of it."""
        before = len(self.stage.entries("tools-listed"))
        self.puts(*tools)
        pid = self._pid()
        os.kill(pid, signal.SIGUSR1)
        await until(lambda: not self._pid())
        self._file("told").write_text(str(pid))
        await self.stage.passing(1.0, lambda: len(self.stage.entries("tools-listed")) > before)

    async def asked(self, name: str = "alice", channel: str = GENERAL, what: str = "a cake") -> str:
        """Have the soul choose to sell something; return the ts of the message."""
        answers(self.stage, ON_IT, selling(what))
        text = ERRAND if channel.startswith("D") else f"{ME} {ERRAND}"
        return await self.stage.say(name, channel, text)

    async def sells(self, name: str, what: str = "a cake") -> None:
        """Have something sold without a question."""
        before = len(questions(self.stage))
        answers(self.stage, ON_IT, selling(what), choice("Respond"), reply("Sold."))
        await self.stage.say(name, GENERAL, f"{ME} {ERRAND}")
        assert len(questions(self.stage)) == before

    async def refused(self, name: str = "alice", channel: str = GENERAL) -> None:
        """Have the soul choose to sell something, which is not done."""
        answers(self.stage, ON_IT, selling(), choice("Respond"), reply("I may not."))
        text = ERRAND if channel.startswith("D") else f"{ME} {ERRAND}"
        await self.stage.say(name, channel, text)
        assert (self.sold, questions(self.stage)) == ([], [])

    async def allowed(self, name: str = "carol") -> None:
        """Have a cake sold, and further sales allowed for good."""
        await self.asked()
        await self.pressed(name, "Always in this channel")

    async def pressed(self, name: str, label: str, end: str = "Done.") -> None:
        """Press a button of the one open question, after which the soul says `end`."""
        answers(self.stage, choice("Respond"), reply(end))
        await pressed(self.stage, name, label)
