"""A new name of the soul on an open page."""

from __future__ import annotations

import shutil
import sys
from asyncio.subprocess import PIPE, create_subprocess_exec
from pathlib import Path

from aiohttp import ClientSession
from playwright.async_api import expect
from slack_sdk.web.async_client import AsyncWebClient

from rehearsal.people import ALICE, SOUL
from tests.console.browser import IN_A_BROWSER, Browsing
from tests.project_copy import copied
from tests.source import ROOT
from tests.stories.process import address_in, ready, variables

pytestmark = IN_A_BROWSER


async def test_a_new_name_is_shown_in_the_chat_and_its_list_without_a_reload(
    tmp_path: Path, browser: Browsing
) -> None:
    project = copied(tmp_path)
    shutil.copytree(ROOT / "examples", project / "examples")
    env = variables(project / "var", {"PYTHONDONTWRITEBYTECODE": "1"})
    process = await create_subprocess_exec(
        sys.executable, "-m", "daemon", cwd=project, env=env, stdout=PIPE, stderr=PIPE
    )
    try:
        lines = await ready(process)
        url, link = address_in(lines), lines[-1].split()[-1]
        async with browser() as chromium, ClientSession() as session:
            alice = AsyncWebClient(token=ALICE.token, base_url=f"{url}/api/", session=session)
            dm = (await alice.conversations_open(users=SOUL.user))["channel"]["id"]
            page = await chromium.new_page()
            await page.goto(link)
            await expect(page.locator("#place")).to_have_text(SOUL.name)
            soul = project / "soul.md"
            soul.write_text(
                soul.read_text(encoding="utf-8").replace(SOUL.name, "Brunhilde"), encoding="utf-8"
            )
            await alice.chat_postMessage(channel=dm, text="hello")
            await expect(page.locator("#soul")).to_have_text("Brunhilde")
            await expect(page.locator("#place")).to_have_text("Brunhilde")
            await expect(page.locator("#places")).to_contain_text("Brunhilde")
            await expect(page.locator("#messages b").last).to_have_text("Brunhilde")
            await expect(page.locator("#tour")).not_to_contain_text(SOUL.name)
    finally:
        process.kill()
        await process.communicate()
