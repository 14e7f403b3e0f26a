"""MCP server of the rehearsed café: what it has in store, what it buys, and tables for guests.

Only its first call loads this module, since the SDK of the protocol takes seconds to import.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

STORE = {"flour": 12, "sugar": 7, "coffee": 9, "plums": 4, "walnuts": 3, "tea": 5}
"""Kilos of each thing at the beginning."""

MOST_KILOS = 500


class CafeLedger:
    """Purchases and reservations in a file, which survive a restart."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, Any]:
        try:
            kept: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {"bought": {}, "tables": []}
        return kept

    def write(self, kept: dict[str, Any]) -> None:
        self._path.write_text(json.dumps(kept, ensure_ascii=False, indent=1), encoding="utf-8")

    @property
    def stock(self) -> dict[str, int]:
        bought = self.read()["bought"]
        return {item: STORE.get(item, 0) + bought.get(item, 0) for item in [*STORE, *bought]}


class TableWishes(BaseModel):
    """Wishes for a table."""

    guests: int = Field(title="Guests", ge=1, le=20)
    place: Literal["inside", "outside"] = Field(default="inside", title="Place")


async def ask_for_wishes(day: str) -> Elicit[TableWishes]:
    return Elicit(f"For how many people is the table on {day}, and where?", TableWishes)


def make_server(ledger: Path) -> MCPServer:
    """Return the server; it keeps its purchases and tables in the file `ledger`."""
    cafe = CafeTools(CafeLedger(ledger))
    server = MCPServer("cafe", version="1")
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    server.add_tool(cafe.stock, annotations=reads, structured_output=False)
    for write in (cafe.buy, cafe.reserve_table):
        server.add_tool(write, annotations=ToolAnnotations(destructive_hint=False), structured_output=False)
    return server


class CafeTools:
    """Tools of the café; their docstrings are the descriptions."""

    def __init__(self, ledger: CafeLedger) -> None:
        self._ledger = ledger

    def stock(
        self,
        item: Annotated[str, Field(description="a thing, for example flour; all of them if empty")] = "",
    ) -> str:
        """Look up how many kilos of something the café has in store."""
        known = self._ledger.stock
        if not item.strip():
            return "\n".join(f"{name}: {kilos} kg" for name, kilos in known.items())
        name = item.strip().casefold()
        return f"{name}: {known.get(name, 0)} kg"

    def buy(
        self,
        item: Annotated[str, Field(description="a thing, for example flour")],
        kilos: Annotated[int, Field(ge=1, le=MOST_KILOS, description="how many kilos")],
    ) -> str:
        """Buy kilos of something for the café from its supplier; they come at once."""
        name, found = item.strip().casefold(), self._ledger.read()
        found["bought"][name] = found["bought"].get(name, 0) + kilos
        self._ledger.write(found)
        return f"Bought {kilos} kg of {name}; there are {self._ledger.stock[name]} kg in store now."

    def reserve_table(
        self,
        day: Annotated[str, Field(description="the day, for example Friday")],
        wishes: Annotated[TableWishes, Resolve(ask_for_wishes)],
    ) -> str:
        """Reserve a table in the café for guests; the guests are asked how many they are."""
        found = self._ledger.read()
        found["tables"].append({"day": day, **wishes.model_dump()})
        self._ledger.write(found)
        return f"A table for {wishes.guests} {wishes.place} is reserved on {day}."
