"""Start time and memory of the daemon. Floor: its libraries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.figure import Figure
from benchmarks.resident import child, resident
from benchmarks.town import town

GIVEN = "import slack_bolt.async_app, anthropic, aiohttp, dotenv"
"""Libraries as a program imports them."""
READY = "; print('ready', flush=True); input()"
LATER = 0.7
"""Maximum seconds over the floor."""
MORE = 40.0
"""Maximum megabytes over the floor."""


async def start(folder: Path, *, rounds: int = 5) -> Sequence[Figure]:
    """Alternate libraries, our code and a ready daemon."""
    async with town(folder) as url:
        env = resident(url, folder / "home")
        found = [
            (
                await _measured("-c", GIVEN + READY),
                await _measured("-c", f"{GIVEN}; import daemon.app.daemon{READY}"),
                await _measured("-m", "daemon", **env),
            )
            for _ in range(rounds)
        ]
    bare, imported, ready = (
        tuple(median(values) for values in zip(*column, strict=True)) for column in zip(*found, strict=True)
    )
    return [
        Figure(name="import", value=imported[0], unit="s", floor=bare[0]),
        Figure(
            name="start, until it hears",
            value=ready[0],
            unit="s",
            floor=bare[0],
            aim=f"at most {LATER:g} s over the floor",
            met=ready[0] - bare[0] <= LATER,
        ),
        Figure(
            name="resident memory, when it hears",
            value=ready[1],
            unit="MB",
            floor=bare[1],
            aim=f"at most {MORE:g} MB over the floor",
            met=ready[1] - bare[1] <= MORE,
        ),
    ]


async def _measured(*arguments: str, **env: str) -> tuple[float, float]:
    """Return seconds and megabytes when ready."""
    async with child(arguments, **env) as process:
        return process.seconds, process.memory
