"""The programs that the inner life may run: are they on this machine, and are they kept from the network?"""

from __future__ import annotations

from collections.abc import Mapping

from daemon.doctor.finding import Finding, ill
from daemon.inner.isolation import isolates
from daemon.inner.supervising import located
from daemon.recipe import Recipe


async def processes(recipes: Mapping[str, Recipe]) -> Finding:
    """What PROCESS_COMMANDS leads to on this machine."""
    if not recipes:
        return Finding(name="processes", said="the inner life may run no programs (PROCESS_COMMANDS)")
    missing = [name for name, recipe in recipes.items() if located(recipe) is None]
    if missing:
        return ill(
            "processes",
            f"PROCESS_COMMANDS names what is no program here: {', '.join(missing)}. Install it, or write its"
            " full path",
        )
    tool, why = await isolates()
    kept = f"{tool} keeps them from the network" if tool else f"they can reach the network: {why}"
    return Finding(name="processes", said=f"it may run {', '.join(recipes)}; {kept}")
