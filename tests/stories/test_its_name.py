"""Name of the soul from soul.md."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from asyncio.subprocess import PIPE, create_subprocess_exec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import ClientSession
from slack_sdk.web.async_client import AsyncWebClient

from daemon.settings.token_file import read_token
from rehearsal.people import ALICE, BOB, SOUL
from rehearsal.tour import stops
from tests.attention import PATIENCE
from tests.project_copy import copied
from tests.soak import SOAK
from tests.source import ROOT
from tests.stories.process import address_in, ready, variables
from tests.stories.stage import GENERAL, ME

NAME = "Ada Lovelace"
RENAMED = "Brunhilde"
SHOWN = ("/", "/console/state", "/rehearsal/state", "/rehearsal/tour", "/rehearsal/deliveries")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = copied(tmp_path)
    shutil.copytree(ROOT / "examples", project / "examples")
    shutil.copy(ROOT / "manifest.json", project)
    soul = project / "soul.md"
    soul.write_text(soul.read_text(encoding="utf-8").replace(SOUL.name, NAME), encoding="utf-8")
    script = project / "rehearsal" / "claude" / "understudy.py"
    script.write_text(
        script.read_text(encoding="utf-8").replace("PACE = 0.02", "PACE = 0.0"), encoding="utf-8"
    )
    return project


async def begun(project: Path, *command: str) -> asyncio.subprocess.Process:
    env = variables(project / "var", {"PYTHONDONTWRITEBYTECODE": "1"})
    return await create_subprocess_exec(
        sys.executable, "-m", "daemon", *command, cwd=project, env=env, stdout=PIPE, stderr=PIPE
    )


async def answered(alice: AsyncWebClient, ts: str, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(PATIENCE):
        while True:
            told = await alice.conversations_replies(channel=GENERAL, ts=ts)
            messages: list[dict[str, Any]] = told["messages"]
            if len(messages) == count and "cafe/" in messages[-1]["text"]:
                return messages


def old_name_in(*told: object) -> list[str]:
    texts = [json.dumps(one, default=str, ensure_ascii=False) for one in told]
    old = re.compile(rf".{{0,60}}(?:{SOUL.name}|{SOUL.name.lower()}).{{0,60}}")
    return [found for text in texts for found in old.findall(text)]


def test_a_name_may_hold_any_sign() -> None:
    odd = 'C++ "R&D" \\n (beta)'
    words = [stop.words for stop in stops(odd) if stop.id == "find"]
    assert words[0].startswith(f"@{odd} the espresso machine")


async def test_all_that_people_see_has_the_name_of_soul_md(project: Path) -> None:
    process = await begun(project)
    try:
        first = await ready(process)
        assert first[0].split(maxsplit=1) == ["soul", f"{NAME}, as soul.md says"]
        url = address_in(first)
        shown = {"X-Console-Token": read_token(project / "var")}
        async with ClientSession(headers=shown) as session:
            alice = AsyncWebClient(token=ALICE.token, base_url=f"{url}/api/", session=session)
            me = AsyncWebClient(token=SOUL.bot_token, base_url=f"{url}/api/", session=session)
            tour = await (await session.get(f"{url}/rehearsal/tour")).json()
            find = next(stop["words"] for stop in tour["stops"] if stop["id"] == "find")
            assert find.startswith(f"@{NAME} ")
            said = await alice.chat_postMessage(channel=GENERAL, text=find.replace(f"@{NAME}", ME))
            messages = await answered(alice, str(said["ts"]), 3)
            together = await alice.conversations_open(users=f"{SOUL.user},{BOB.id}")
            users = (await alice.users_list())["members"]
            assert [one["real_name"] for one in users if one["id"] == SOUL.user] == [NAME]
            told = [messages, users, together.data, (await me.auth_test()).data]
            told += [(await me.bots_info(bot=SOUL.bot)).data]
            told += [await (await session.get(f"{url}{page}")).text() for page in SHOWN]
            asked = await (await session.get(f"{url}/rehearsal/claude/requests")).json()
    finally:
        process.kill()
        _, complaints = await process.communicate()
    assert old_name_in(*told, *asked, *first, complaints.decode()) == []
    looked = [str(one) for one in asked if "Research" in str(one)][-1]
    assert "lovelace" not in looked, "a name is nothing to look for"


async def test_a_name_that_changes_in_soul_md_is_shown_everywhere_at_once(project: Path) -> None:
    process = await begun(project)
    try:
        url = address_in(await ready(process))
        async with ClientSession(headers={"X-Console-Token": read_token(project / "var")}) as session:
            alice = AsyncWebClient(token=ALICE.token, base_url=f"{url}/api/", session=session)
            dm = (await alice.conversations_open(users=SOUL.user))["channel"]["id"]
            soul = project / "soul.md"
            soul.write_text(soul.read_text(encoding="utf-8").replace(NAME, RENAMED), encoding="utf-8")
            named = await (await session.get(f"{url}/console/names?of={SOUL.user}")).json()
            assert named["names"] == {SOUL.user: RENAMED}
            told = [await (await session.get(f"{url}{page}")).json() for page in SHOWN[1:4]]
            told.append((await alice.users_list())["members"])
            assert told[0]["name"] == RENAMED
            await acked(session, url)
            await alice.chat_postMessage(channel=dm, text=f"who is {ME}?")
            told.append(await taken(session, url))
            assert RENAMED in str(told[2])
            assert f"who is @{RENAMED}?" in str(told[-1])
            assert NAME not in str(told)
            soul.unlink()
            assert RENAMED in str((await alice.users_list())["members"])
    finally:
        process.kill()
        await process.communicate()


async def acked(session: ClientSession, url: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            told = await (await session.get(f"{url}/rehearsal/deliveries")).json()
            if all(one["acked"] for one in told["deliveries"] if one["app"] == SOUL.id):
                return


async def taken(session: ClientSession, url: str) -> list[dict[str, Any]]:
    async with asyncio.timeout(PATIENCE):
        while True:
            listed: dict[str, Any] = await (await session.get(f"{url}/console/threads")).json()
            if any(thread["began"] for thread in listed["threads"]):
                return list(listed["threads"])


@SOAK
async def test_the_doctors_link_makes_an_app_of_that_name(project: Path) -> None:
    process = await begun(project, "doctor", "--json")
    said, _ = await process.communicate()
    link = parse_qs(urlsplit(json.loads(said)["create_app"]).query)["manifest_json"][0]
    assert json.loads(link)["features"]["bot_user"]["display_name"] == NAME
    assert old_name_in(said.decode(), link) == []
