"""A daemon that only belongs to a workspace, in a process of its own: says in JSON lines what happens to it.

It wants the role `at work`, and acts as often as it can while it has it and its lease is confirmed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from daemon.cluster.daemon_facts import DaemonFacts, DaemonRow
from daemon.cluster.membership import SURE_SECONDS, Membership
from daemon.cluster.roles import Roles
from daemon.engine.clock import boot_time
from daemon.engine.exceptions import CountedAsDead
from daemon.settings.parse import ConfigError

ACTING = 0.02
"""Seconds between two acts."""


def say(what: str, **more: Any) -> None:
    print(json.dumps({"what": what, "at": boot_time()} | more), flush=True)


async def belong(url: str, machine: str, cleans_up: str, sockets: str) -> None:
    async with Membership(url, DaemonFacts(machine=machine)) as membership:
        say("joined", worker=membership.worker_id)
        membership.reach.on_change.append(lambda reachable: say("reach", reachable=reachable))
        say("sockets", number=await membership.take_sockets(int(sockets)))
        if cleans_up:
            membership.on_death.append(lambda dead: clean_up(dead, cleans_up))
        acting = asyncio.create_task(act(membership))
        try:
            await membership.died
        finally:
            acting.cancel()
            await asyncio.gather(acting, return_exceptions=True)


async def clean_up(dead: DaemonRow, how: str) -> None:
    say("cleans up", machine=dead.machine)
    if how == "never ends":
        await asyncio.get_running_loop().create_future()


async def act(membership: Membership) -> None:
    roles = Roles(membership)
    await roles.hold("at work")
    say("at work")
    while True:
        asked = boot_time()
        if roles.holds("at work") and await membership.confirm("sess-1", 1):
            looked = boot_time()
            if looked - asked < SURE_SECONDS:  # a pause after the look is nobody's fault
                say("acts", at=looked)
        await asyncio.sleep(ACTING)


def main() -> int:
    try:
        asyncio.run(belong(*sys.argv[1:]))
    except ConfigError as error:
        say("refused", text=str(error))
        return 78
    except CountedAsDead:
        say("counted as dead")
        return 75
    return 0


if __name__ == "__main__":
    sys.exit(main())
