"""A person wants to be forgotten while a machine with a copy is away."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from aiohttp import ClientSession

from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import SOUL
from tests.attention import PATIENCE, until
from tests.cluster.daemons import cluster_env, machine
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.stories.process import Around, around, start
from tests.stories.stage import ALICE

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

WORD = "Marzipanschwein"


def words_below(folder: Path) -> int:
    return sum(path.read_bytes().count(WORD.encode()) for path in folder.rglob("journal*") if path.is_file())


async def press(place: Around, ts: str, label: str) -> None:
    """Press a button under the answer, once it is there."""
    await until(lambda: any("actions" in str(one.body.get("blocks")) for one in place.answers(ts)))
    asked = {"user": ALICE_HERSELF.id, "channel": ALICE, "ts": place.answers(ts)[-1].ts, "label": label}
    async with ClientSession() as session, session.post(f"{place.url}/rehearsal/press", json=asked) as answer:
        assert (await answer.json())["ok"]


async def test_whoever_wants_to_be_forgotten_while_a_machine_is_away_is_forgotten_there_too(
    tmp_path: Path, log_url: str
) -> None:
    first_home, second_home = tmp_path / "first", tmp_path / "second"
    async with around(tmp_path) as place, machine(tmp_path, place, log_url, "first") as first:
        async with machine(tmp_path, place, log_url, "second"):
            ts = await place.say(f"<@{SOUL.user}> {WORD}, please.")
            await until(lambda: place.texts(ts) and not place.working)
            await until(lambda: words_below(first_home) and words_below(second_home))
        await press(place, await place.say("!forget me"), "Forget it")
        async with asyncio.timeout(PATIENCE):
            while "which have not reported: second." not in str((await first.health())[1]["wrong"]):
                pass
        doctor = await start(first_home, "doctor", "--json", **cluster_env(place, log_url, "first"))
        found = json.loads((await doctor.communicate())[0])["findings"]
        [said] = [one["said"] for one in found if one["name"] == "forgetting"]
        assert "which have not reported: second." in said
        assert words_below(second_home)
        async with machine(tmp_path, place, log_url, "second"):
            await until(lambda: not words_below(first_home) + words_below(second_home))
            async with asyncio.timeout(PATIENCE):
                while "have not reported" in str((await first.health())[1]["wrong"]):
                    pass
