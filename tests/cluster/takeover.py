"""Takeover: the time from a hit to the first thing that another daemon does for a thread that was at work.

`python -m tests.cluster.takeover TIMES [HIT,…]` hits one daemon at a time, and prints median and most.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from time import monotonic, time

from tests.cluster.kill_run import DMS, Database, KillRun, kill_run, look_until, open_to_others
from tests.cluster.world import Effect
from tests.postgres import new_log

LONGEST = 60.0
"""Most seconds until somebody takes over, and until all is well again."""


async def takeover(run: KillRun, kind: str) -> float | None:
    """Hit the daemon that streams an answer; return the seconds until another one acts. None: never."""
    since = len(run.world.effects)
    await run.ask("alice", DMS["alice"], "Please count to 900.")
    await look_until(lambda: len(_streaming(run, since)) > 2, LONGEST)
    daemon = _streaming(run, since)[-1].daemon
    hit_at, seen = time(), len(run.world.effects)
    await run.hit_one(run.members.all[daemon], kind, 15.0)
    deadline = monotonic() + LONGEST
    first: Effect | None = None
    while first is None and monotonic() < deadline:
        await asyncio.sleep(0.02)
        await run.members.tend(run.draw)
        others = (one for one in run.world.effects[seen:] if one.daemon not in ("people", daemon))
        first = next(others, None)
    await run.settle()
    return first.at - hit_at if first else None


def _streaming(run: KillRun, since: int) -> list[Effect]:
    return [effect for effect in run.world.effects[since:] if effect.name == "chat.appendStream"]


async def main(times: int, kinds: Sequence[str], **settings: str) -> Mapping[str, list[float]]:
    """Hit daemons in turn; print what each kind of hit came to."""
    found = defaultdict[str, list[float]](list)
    with open_to_others() as folder:
        async with (
            Database(folder / "postgres") as database,
            kill_run(folder, new_log(database.url), 1, database, (), **settings) as run,
        ):
            run.draw = random.Random(1)
            for _ in range(times):
                for kind in kinds:
                    took = await takeover(run, kind)
                    found[kind].append(LONGEST if took is None else took)
                    if took is None or took > 10:
                        for name, one in run.members.all.items():
                            print(name, *one.said[-12:], sep="\n    ")
    for kind, seconds in found.items():
        print(json.dumps({"hit": kind, "median": round(median(seconds), 2), "most": round(max(seconds), 2)}))
    return found


if __name__ == "__main__":
    _, many, *rest = [one for one in sys.argv if "=" not in one]
    given = dict(one.split("=", 1) for one in sys.argv if "=" in one)
    asyncio.run(main(int(many), rest[0].split(",") if rest else ["kill", "pause", "cut"], **given))
