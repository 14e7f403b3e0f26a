"""One daemon at work, another that stands by, on one log and in one rehearsed Slack."""

from __future__ import annotations

from pathlib import Path

from rehearsal.people import SOUL
from tests.attention import until
from tests.cluster.daemons import machine
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.stories.process import around

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

ASKED = f"<@{SOUL.user}> Tell me about tea, please."


async def test_a_standby_goes_on_with_an_answer_in_which_the_daemon_at_work_was_killed(
    tmp_path: Path, log_url: str
) -> None:
    async with (
        around(tmp_path, pace=0.1) as place,
        machine(tmp_path, place, log_url, "first") as first,
        machine(tmp_path, place, log_url, "second") as second,
    ):
        assert second.stands_by
        assert not first.stands_by
        status, health = await second.health()
        assert (status, health["at_work"], health["log"]["reachable"]) == (200, False, True)
        ts = await place.say(ASKED)
        await until(lambda: place.texts(ts))
        first.process.kill()
        await until(lambda: len(place.texts(ts)) == 1 and not place.working)
        await second.wait_until_at_work()
        later = await place.say(ASKED)
        await until(lambda: place.texts(later))
