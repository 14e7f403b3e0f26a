"""The page on any daemon: buttons, sessions and streams outlive the daemon that they came from."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientResponse, ClientSession

from rehearsal.people import ALICE, SOUL
from tests.attention import until
from tests.cluster.daemons import SIGNED_IN, Machine, cluster_env, machine
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.stories.choosing import choice, turning
from tests.stories.process import Around, around, start
from tests.stories.stage import reply

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

ME = f"<@{SOUL.user}>"
DECIDING = {"ISM_ENABLED": "true", "ISM_MAX_LOOPS": "1", "OWNER_USER_IDS": ALICE.id}
DOCTOR = ("log", "commits", "clock", "daemons", "sockets")
FOUND = "The ferry sails at nine."


@asynccontextmanager
async def two(tmp_path: Path, log: str, **more: str) -> AsyncIterator[tuple[Around, Machine, Machine]]:
    """Yield a world, the daemon at work, and one that stands by."""
    async with (
        around(tmp_path) as place,
        machine(tmp_path, place, log, "first", **more) as first,
        machine(tmp_path, place, log, "second", **more) as second,
    ):
        yield place, first, second


async def test_a_button_on_the_page_of_a_standby_reaches_the_daemon_at_work(
    tmp_path: Path, log_url: str
) -> None:
    async with two(tmp_path, log_url, **DECIDING) as (place, _, second):
        for text in (turning(), choice("Think"), "Hm.", reply("I know a part of it.")):
            place.model.say(text)
        ts = await place.say(f"{ME} When does the ferry sail?")
        asked: list[Any] = []
        while not asked:
            asked = (await second.get("/console/questions"))["open"]
        for text in (choice("Respond"), reply(FOUND)):
            place.model.say(text)
        path = f"/console/questions/{asked[0]['seq']}"
        assert await second.post(path, {"value": "continue"}) == (200, {"ok": True})
        await until(lambda: FOUND in place.texts(ts))
        assert (await second.health())[1]["at_work"] is False


async def test_a_link_of_one_daemon_opens_the_page_of_each_and_outlives_it(
    tmp_path: Path, log_url: str
) -> None:
    async with two(tmp_path, log_url, CONSOLE_TOKEN="") as (_, first, second):
        link = first.lines[-1].partition("token=")[2]
        async with ClientSession() as browser:
            async with browser.post(f"{second.url}/console/session", json={"token": link}) as answer:
                signed_in = {"X-Console-Token": (await answer.json())["session"]}
            async with browser.post(f"{first.url}/console/session", json={"token": link}) as answer:
                assert answer.status == 401, "a link opens one session"
            async with browser.get(f"{first.url}/console/state", headers=signed_in) as answer:
                assert answer.status == 200
            first.process.kill()
            async with browser.get(f"{second.url}/console/state", headers=signed_in) as answer:
                assert answer.status == 200


async def events(answer: ClientResponse, most: int) -> list[tuple[int, str]]:
    """Return the first events with an id: (seq, kind)."""
    found: list[tuple[int, str]] = []
    seq = 0
    async for line in answer.content:
        name, _, value = line.decode().rstrip().partition(": ")
        if name == "id":
            seq = int(value)
        elif name == "data" and seq:
            found.append((seq, json.loads(value)["kind"]))
            seq = 0
        if len(found) == most:
            break
    return found


async def test_the_stream_of_a_page_goes_on_where_it_was_on_another_daemon(
    tmp_path: Path, log_url: str
) -> None:
    async with two(tmp_path, log_url) as (place, first, second), ClientSession(headers=SIGNED_IN) as browser:
        ts = await place.say(f"{ME} Hello!")
        await until(lambda: place.texts(ts) and not place.working)
        async with browser.get(f"{first.url}/console/journal?since=0") as answer:
            seen = await events(answer, 8)
        assert [seq for seq, _ in seen] == [*range(1, 9)]
        first.process.kill()
        headers = {"Last-Event-ID": "8"}
        async with browser.get(f"{second.url}/console/journal?since=0", headers=headers) as answer:
            assert [seq for seq, _ in await events(answer, 3)] == [9, 10, 11]
        await second.wait_until_at_work()


async def test_the_views_of_a_standby_a_link_to_them_and_the_doctor_are_there(
    tmp_path: Path, log_url: str
) -> None:
    async with two(tmp_path, log_url) as (place, _, second):
        for path in ("threads", "costs", "state", "health", "questions", "people"):
            assert "error" not in await second.get(f"/console/{path}")
        await second.wait_until_sees(first=True, second=False)
        assert {"soul_at_work 0.0", "soul_log_reachable 1.0"} <= {
            *(await second.text("/metrics")).splitlines()
        }
        asked = await start(tmp_path / "second", "link", **cluster_env(place, log_url, "second"))
        assert (await asked.communicate())[0].decode().startswith(f"{second.url}/?token=")
        asked = await start(tmp_path / "second", "doctor", "--json", **cluster_env(place, log_url, "second"))
        findings = json.loads((await asked.communicate())[0])["findings"]
    said = {name: [one["said"] for one in findings if one["name"] == name] for name in DOCTOR}
    assert "PostgreSQL 1" in said["log"][0]
    assert "synchronous_commit=" in said["commits"][0]
    assert "synchronous_commit is off" in said["commits"][1]
    assert "the log's" in said["clock"][0]
    assert [line.partition(",")[0] for line in said["daemons"]] == ["first: at work", "second: stands by"]
    assert said["sockets"] == ["all daemons have 1 of the 10 that Slack allows"]
