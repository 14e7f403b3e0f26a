"""One daemon at work, another that stands by, on one log and in one rehearsed Slack."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rehearsal.people import SOUL
from tests.attention import until
from tests.cluster.daemons import machine
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.stories.process import around
from tests.stories.stage import reply

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

ASKED = f"<@{SOUL.user}> Tell me about tea, please."


async def test_a_standby_goes_on_with_an_answer_in_which_the_daemon_at_work_was_killed(
    tmp_path: Path, log_url: str
) -> None:
    begun = reply("Tea is a leaf. It grows on hills.")
    async with around(tmp_path) as place, machine(tmp_path, place, log_url, "first") as first:
        place.model.say(begun, first=begun.index("It grows"), until=asyncio.Event())
        ts = await place.say(ASKED)
        await until(lambda: place.texts(ts))
        async with machine(tmp_path, place, log_url, "second") as second:
            assert (first.stands_by, second.stands_by) == (False, True)
            status, health = await second.health()
            assert (status, health["at_work"], health["log"]["reachable"]) == (200, False, True)
            assert "synchronous_commit is off at the journal's database" in str(health["wrong"])
            await second.wait_until_sees(first=True, second=False)
            assert place.working, "a standby clears no status of the daemon at work"
            first.process.kill()
            await until(lambda: any("rehearsal script" in text for text in place.texts(ts)))
            await until(lambda: not place.working)
            assert len(place.texts(ts)) == 1
            await second.wait_until_at_work()
            later = await place.say(ASKED)
            await until(lambda: place.texts(later))
