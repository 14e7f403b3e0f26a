"""What a sandbox is, whichever environment stands behind it: cells run in it, one after the other.

All cells of a sandbox share one namespace, which is kept, too, after a cell that raised. The code reaches
nothing but the functions that it is given; they run on the host. After the "environment" of the seed
(recursive-language-models.md).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Function = Callable[..., Awaitable[Any]]
"""A function of the host's that cells may call as a plain function (`answer = llm_query("…")`).

Its arguments and its result are plain values: None, bool, int, float, str, list, dict, and tuple, set, bytes,
date and datetime. Several may be on their way at once. Where it raises a CallError the code sees a
RuntimeError with its words; whatever else it raises ends the cell, closes the sandbox, and is raised by
`execute_code`.
"""


class SandboxError(Exception):
    """A sandbox cannot be opened, or a value cannot be brought into it: what happened, and what to do."""

    recorded_name = "SandboxError"


class ContextLoadError(Exception):
    """What is to be read cannot be brought: a plain sentence for whoever asked, and what to do."""

    recorded_name = "ContextError"


class HostCallError(Exception):
    """What the host says of a call that came to nothing; the code that called can catch it."""

    recorded_name = "CallError"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """What a sandbox may take: `seconds` of its own work a cell (waiting for the host does not count), bytes
    of `memory`, characters of `output` a cell, and `calls` of the host's functions a cell."""

    seconds: float = 30.0
    memory: int = 512 * 2**20
    output: int = 2**20
    calls: int = 10_000


USUAL = SandboxLimits()
"""What holds where nobody says anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """What came of one cell.

    `value` is that of its last expression, where it ended with one (a value that cannot leave the sandbox is
    its repr). `error` is a traceback as CPython writes it, with the cell's lines; empty where there is none.
    `variables` are all names that the cells have assigned so far, each with its type. `lost`: it went over a
    bound, or the environment died, and the namespace is gone with it: the sandbox takes no more cells.
    """

    stdout: str = ""
    stderr: str = ""
    value: Any = None
    error: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    lost: bool = False


class Sandbox(Protocol):
    """Runs cells. One at a time; a cancelled `execute_code` closes it."""

    async def execute_code(self, code: str) -> CellResult:
        """Run this cell to its end. Raises nothing for what the code does."""

    async def bind(self, **names: Any) -> None:
        """These are variables of its namespace from now on. Raises SandboxError where a value cannot be."""

    async def close(self) -> None:
        """End it, within a moment, also in the midst of a cell."""
