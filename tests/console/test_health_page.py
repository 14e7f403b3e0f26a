"""An unreachable model in the page's header and in Health."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import ViewportSize, expect

from daemon.claude.backend import models_in
from daemon.claude.capability_probes import QUESTIONS
from rehearsal.people import BOB
from tests.attention import until
from tests.backends.model_list import QWEN, model_server
from tests.console.browser import IN_A_BROWSER, Browsing
from tests.console.theatre import theatre
from tests.soak import SOAK, later
from tests.texts import copied

pytestmark = IN_A_BROWSER

[LISTED] = models_in([QWEN]) or []
SIZE = ViewportSize(width=1440, height=900)
SOON = 11_000
"""Milliseconds until an idle page refreshes."""
WHY = "No answer from claude-sonnet-5-5: the server fails (HTTP 502)."
TRIED = r"Since \d\d:\d\d\. One person waits for an answer\. (The next try comes at|It is being tried now)"


@pytest.mark.parametrize("width", [1440, later(1024), later(390)])
async def test_the_header_and_health_say_that_a_model_is_away_until_it_answers(
    tmp_path: Path, width: int, browser: Browsing
) -> None:
    async with theatre(tmp_path) as (soul, model), browser() as chromium:
        page = await chromium.new_page(viewport=ViewportSize(width=width, height=900))
        said = {"channel": "D0BOB000001", "text": "Hello"}
        as_bob = {"Authorization": f"Bearer {BOB.token}"}
        post = f"{soul.url}/api/chat.postMessage"
        model.faults.switch("failing")
        await page.request.post(post, data=said, headers=as_bob)
        await until(lambda: model.requests)
        await page.goto(f"{soul.url}/#health")
        header, health = page.locator("#wrong"), page.locator(".health")
        await expect(header).to_contain_text(WHY)
        await expect(header).to_contain_text(re.compile(TRIED))
        await expect(health.locator("[data-tone=bad]")).to_contain_text(f"A model does not answer.{WHY}")
        await expect(health.locator("[data-tone=bad]")).to_contain_text(re.compile(TRIED))
        await expect(page.locator("#unwell")).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        model.faults.all_off()
        await page.request.post(post, data=said | {"text": "And now?"}, headers=as_bob)
        await expect(header).to_be_hidden()
        await expect(health).to_contain_text("The models answer.")
        facts = health.locator(".known-facts")
        await expect(facts).to_contain_text("speaks: claude-sonnet-5-5")
        await expect(facts).to_contain_text(re.compile(r"Version0\.\d"))
        await expect(facts).to_contain_text("Runs for")
        await expect(facts).to_contain_text("Connections to Slack2 of 2")
        await expect(facts).to_contain_text(re.compile(r"\(median\), .+ \(95 %\), of .*answered call"))
        await expect(facts).to_contain_text(re.compile(r"server error: \d"))


@SOAK
async def test_the_header_learns_of_it_by_itself(tmp_path: Path, browser: Browsing) -> None:
    async with theatre(tmp_path) as (soul, model), browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        await page.goto(soul.url)
        await expect(page.locator("#soul")).to_have_text("Claudius")
        await page.route("**/console/journal*", lambda _: None)  # blocks its events
        await page.reload()
        model.faults.switch("failing")
        said = {"channel": "D0BOB000001", "text": "Hello"}
        as_bob = {"Authorization": f"Bearer {BOB.token}"}
        await page.request.post(f"{soul.url}/api/chat.postMessage", data=said, headers=as_bob)
        await expect(page.locator("#wrong")).to_contain_text(WHY)


async def test_health_says_nothing_of_a_time_away_where_there_was_none(
    tmp_path: Path, browser: Browsing
) -> None:
    async with theatre(tmp_path) as (soul, _), browser() as chromium:
        page = await chromium.new_page(viewport=SIZE)
        await page.goto(f"{soul.url}/#health")
        await expect(page.locator(".health")).to_contain_text("It hears.")
        await expect(page.locator(".health")).not_to_contain_text("away")
        await expect(page.locator(".health")).not_to_contain_text("left")


@pytest.mark.parametrize("width", [1440, later(1024), later(390)])
async def test_a_broken_file_of_the_owners_is_named_until_it_is_mended_without_a_message_or_a_reload(
    tmp_path: Path, width: int, browser: Browsing
) -> None:
    words = copied(tmp_path / "words")
    soul_file, book = words / "soul.md", words / "playbooks" / "problem_solving.md"
    was = {file: file.read_text() for file in (soul_file, book)}
    async with theatre(tmp_path / "home", words=words) as (soul, _), browser() as chromium:
        page = await chromium.new_page(viewport=ViewportSize(width=width, height=900))
        await page.clock.install()
        await page.goto(f"{soul.url}/#health")
        header, health, mark = page.locator("#wrong"), page.locator(".health"), page.locator("#unwell")
        await expect(health).to_contain_text("It hears.")
        await expect(mark).to_be_hidden()
        soul_file.write_text("")
        book.write_text(was[book].replace("actions: [Think,", "actions: [Thnik,"))
        await page.clock.run_for(SOON)
        first = "soul.md cannot be used: it is empty: write it, or put it back. The last good version stays"
        other = "problem_solving.md cannot be used: there is no action Thnik; is it Think?"
        for place in (header, health):
            await expect(place).to_contain_text(first)
            await expect(place).to_contain_text(other)
        await expect(mark).to_be_visible()
        await expect(page.locator("#soul")).to_have_text("Claudius")
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        for file, text in was.items():
            file.write_text(text)
        await page.clock.run_for(SOON)
        await expect(health).not_to_contain_text("cannot be used")
        await expect(header).to_be_hidden()
        await expect(mark).to_be_hidden()


@pytest.mark.parametrize("width", [1440, later(1024), later(390)])
async def test_health_shows_in_a_table_what_a_local_model_can_do(
    tmp_path: Path, width: int, browser: Browsing
) -> None:
    listed = [{**QWEN, "id": "llama3.2:1b"}, QWEN]
    known = {
        "schema": "grammar",
        "keeps_sections": False,
        "images": True,
        "prompt_speed": 18.25,
        "answer_speed": 2.5,
    }
    async with model_server(listed=listed) as server:
        served = {
            "address": server.url,
            "model": "qwen3:8b",
            "server": "llama-server b6543-abc",
            "mark": LISTED.mark,
        }
        row = {**served, "at": 1.0, "questions": [*QUESTIONS], "capabilities": known}
        (tmp_path / "model-capabilities.json").write_text(json.dumps({"models": [row]}))
        names: dict[str, Any] = {"claude_model": "qwen3:8b", "claude_model_fast": "qwen3:8b"}
        local: dict[str, Any] = {"anthropic_api_key": "any", "anthropic_base_url": server.url}
        async with theatre(tmp_path, **names, **local) as (soul, _), browser() as chromium:
            page = await chromium.new_page(viewport=ViewportSize(width=width, height=900))
            await page.goto(f"{soul.url}/#health")
            health = page.locator(".health")
            await expect(health).to_contain_text(f"{server.url} (llama-server b6543-abc) lists 2 models.")
            table = page.locator(".capabilities table")
            for name, told in (
                ("Model", "qwen3:8b"),
                ("Window", "12,288 tokens"),
                ("Is held to JSON", "by a grammar"),
                ("Answers in", "plain text: it does not keep sections"),
                ("Sees images", "yes"),
                ("Reads", "18 tokens a second"),
                ("Writes", "2.5 tokens a second"),
                ("Requests at a time", "2"),
            ):
                await expect(table.locator("tr", has_text=name).first).to_have_text(f"{name}{told}")
            assert await page.evaluate("document.documentElement.scrollWidth") <= width


async def test_health_warns_of_a_listed_model_that_its_gateway_lacks(
    tmp_path: Path, browser: Browsing
) -> None:
    async with model_server(listed=[{"id": "claude-sonnet-5-5"}]) as server:
        local: dict[str, Any] = {"anthropic_api_key": "any", "anthropic_base_url": server.url}
        async with theatre(tmp_path, **local) as (soul, _), browser() as chromium:
            page = await chromium.new_page(viewport=SIZE)
            await page.goto(f"{soul.url}/#health")
            warning = page.locator(".health [data-tone=warn]")
            await expect(warning).to_contain_text("does not list claude-haiku-5-5 (CLAUDE_MODEL_FAST)")
            await expect(page.locator(".capabilities")).to_have_count(0)
            await expect(page.locator("#wrong")).to_be_hidden()
