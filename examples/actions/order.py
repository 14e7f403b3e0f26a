"""The café's list of orders: what stands there gets bought, so nothing does without an owner's yes."""

from pathlib import Path
from typing import Annotated

from daemon.actions.function import action

LIST = "orders.md"


@action(approval=True, playbooks=["problem_solving"])
async def order(what: Annotated[str, "what to order, how much of it, and for when"], soul_home: Path) -> str:
    """Order something for the café: it is put on the list of orders."""
    with (soul_home / LIST).open("a+", encoding="utf-8") as orders:
        orders.seek(0)
        number = len(orders.readlines()) + 1
        orders.write(f"- {' '.join(what.split())}\n")
    return f"On the list of orders now: {what} ({LIST}:{number})."
