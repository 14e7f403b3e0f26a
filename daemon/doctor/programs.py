"""The programs that run here: what a model writes when it reads, and what the inner life may start.

Where do they run, and what confines them, or keeps them from the network?
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from daemon.doctor.finding import Finding, ill_finding, well_finding
from daemon.environment import SandboxError
from daemon.errors import ConfigError
from daemon.inner.isolation import find_bwrap
from daemon.inner.supervising import program_path
from daemon.recipe import AllowedProgram
from daemon.sandbox.cpython import describe_confinement
from daemon.sandbox.sandboxes import SandboxFactory
from daemon.sandbox.session import Kind

CELL, RESULT = "6 * 7", 42
"""A cell that the doctor runs, and its value."""


async def examine_sandbox(kind: str) -> Finding:
    """What RLM_SANDBOX leads to on this machine."""
    if kind not in get_args(Kind):
        return await _own(kind)
    if kind == "monty":
        return well_finding("sandbox", "programs run in monty alone")
    try:
        confined = await describe_confinement()
    except SandboxError as error:
        if kind == "cpython":
            return ill_finding("sandbox", str(error))
        return well_finding("sandbox", f"programs run in monty alone. {error}")
    where = "in monty, and in CPython where they need it"
    if kind == "cpython":
        where = "in CPython"
    return well_finding("sandbox", f"programs run {where}; there {confined} confine them")


async def _own(name: str) -> Finding:
    """Open a sandbox of the owner's class, and run a cell in it."""
    try:
        async with SandboxFactory(name) as sandboxes:
            sandbox = await sandboxes.open({})
            try:
                ran = await sandbox.execute_code(CELL)
            finally:
                await sandbox.close()
    except (ConfigError, SandboxError) as error:
        return ill_finding("sandbox", str(error).rstrip("."))
    if ran.value != RESULT:
        return ill_finding(
            "sandbox",
            f"{name} opens, but {CELL} came to {ran.value!r} in it: {ran.error.strip().rstrip('.')}",
        )
    return well_finding(
        "sandbox", f"programs run in {name}, your own class; what confines them is its matter"
    )


async def examine_programs(recipes: Mapping[str, AllowedProgram], seconds: float) -> Finding:
    """Say which programs of PROCESS_COMMANDS can run on this machine, and for how long each."""
    if not recipes:
        return well_finding("processes", "the inner life may run no programs (PROCESS_COMMANDS)")
    missing = [name for name, recipe in recipes.items() if program_path(recipe) is None]
    if missing:
        return ill_finding(
            "processes",
            f"PROCESS_COMMANDS names what is no program here: {', '.join(missing)}. Install it, or write its"
            " full path",
        )
    tool, why = await find_bwrap()
    kept = f"they can reach the network: {why}"
    if tool:
        kept = f"{tool} keeps them from the network"
    return well_finding("processes", f"it may run {', '.join(recipes)} for {seconds:g} s each; {kept}")
