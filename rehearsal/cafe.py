"""The rehearsed café as a tool server: its name, its list of tools, and how it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedToolServer:
    """Tool server in the module `module`; its tools as JSON stand in the file `listed`."""

    name: str
    listed: Path
    module: str

    def load(self, ledger: Path) -> object:
        """Import and return the server, which takes seconds; it keeps what it did in the file `ledger`."""
        server: object = import_module(self.module).make_server(ledger)
        return server


def rehearsed_cafe() -> RehearsedToolServer:
    listed = Path(__file__).with_name("cafe_tools.json")
    return RehearsedToolServer(name="cafe", listed=listed, module="rehearsal.cafe_server")
