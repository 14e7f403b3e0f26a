"""The sandbox: where the programs run that a model writes when it reads, and what confines them here."""

from __future__ import annotations

from daemon.doctor.finding import Finding, ill
from daemon.environment import SandboxError
from daemon.sandbox.cpython import confines


async def programs(kind: str) -> Finding:
    """What RLM_SANDBOX leads to on this machine."""
    if kind == "monty":
        return Finding(name="sandbox", said="programs run in monty alone")
    try:
        confined = await confines()
    except SandboxError as error:
        if kind == "cpython":
            return ill("sandbox", str(error))
        return Finding(name="sandbox", said=f"programs run in monty alone. {error}")
    where = "in CPython" if kind == "cpython" else "in monty, and in CPython where they need it"
    return Finding(name="sandbox", said=f"programs run {where}; there {confined} confine them")
