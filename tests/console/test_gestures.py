"""Buttons, Stop, whispers, reactions, runs and links on the page."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from playwright.async_api import Page, ViewportSize, expect

from daemon.engine.event import Event
from daemon.engine.kinds import InputsReceived, QuestionWithdrawn
from daemon.kinds import (
    ActionObserved,
    ActionStarted,
    ButtonPress,
    ContextCleared,
    LimitReached,
    MemoryNote,
    ModelCall,
    PersonModelWritten,
    PromptFault,
    QuestionAnswered,
    QuestionAsked,
    RunEnded,
    RunMessage,
    SoulTurnBegan,
    SoulTurnEnded,
    StopRequest,
)
from rehearsal.people import ALICE, BOB, SOUL
from tests.attention import until
from tests.console.browser import IN_A_BROWSER, Browsing, Windows
from tests.console.desk import THREAD, Desk, desk
from tests.console.site import called, message
from tests.soak import SOAK

pytestmark = IN_A_BROWSER

DM = "D0ALICE0001"
SIZE = ViewportSize(width=1440, height=900)
PICTURES = os.environ.get("PICTURES")


def choice(why: str, *actions: Any) -> ModelCall:
    text = json.dumps({"why": why, "actions": actions})
    return called("choice", schema={}, text=text)


RUN: list[Event] = [
    message("Find the red fruit."),
    SoulTurnBegan(execution=f"{THREAD}@2", inputs=(2,), process="problem_solving", texts=""),
    choice("I have to look it up.", "Think", {"name": "Research", "args": {"query": "red"}}),
    ActionStarted(name="Research", args={"query": "red fruit"}),
    ActionObserved(name="Research", text="fruit.md:12 The cherry is red."),
    InputsReceived(inputs=(9, 10)),
    RunMessage(text="## Goal\nFind out what they need.\n\n## Playbook\nLook."),
    RunMessage(text='What came of it follows.\n<result of="Research">\nfruit.md:12 red\n</result>'),
    RunEnded(reason="calls", loops=2, calls=3),
    MemoryNote(text="Alice likes cherries.", about="Alice"),
    PersonModelWritten(person=ALICE.id, name="Alice", text="She looks for fruit.", since=2),
    LimitReached(bound="calls", resets="turn"),
    QuestionAsked(text="Shall I go on?", choices=("continue", "stop")),
    SoulTurnEnded(outcome="suspended"),
    ButtonPress(user=ALICE.id, name="Alice", text="Continue", ts="17.1", answers="a", value="continue"),
    QuestionAnswered(input=15, value="continue", text="[Alice chose “Continue”]", by=ALICE.id),
    called("answer", outcome="cancelled", text="It is th"),
    StopRequest(user=ALICE.id, name="Alice", text="", ts="17.2", by="reaction"),
    QuestionWithdrawn(),
    ContextCleared(text="They looked for a red fruit.", last=2),
    SoulTurnEnded(outcome="completed"),
]


async def question(here: Desk) -> str:
    """Make Alice ask and the soul ask back with buttons; return the root."""
    root: str = (await here.client(ALICE.token).chat_postMessage(channel=DM, text="Find it."))["ts"]
    soul = here.client()
    elements = [
        {"type": "button", "action_id": name.lower(), "text": {"type": "plain_text", "text": name}, **more}
        for name, more in (("Continue", {"style": "primary"}), ("Stop", {"style": "danger"}))
    ]
    blocks: list[dict[str, Any]] = [
        {"type": "markdown", "text": "Shall I go **on**?"},
        {"type": "actions", "elements": elements},
    ]
    await soul.chat_postMessage(channel=DM, thread_ts=root, text="Shall I go on?", blocks=blocks)
    await soul.agents_sessions_setStatus(channel_id=DM, thread_ts=root, status="processing")
    await soul.assistant_threads_setStatus(
        channel_id=DM, thread_ts=root, status="thinking · searching memory (2/5)"
    )
    return root


def sent(here: Desk, kind: str) -> list[dict[str, Any]]:
    payloads = [one["payload"] for one in here.world.workspace.courier.deliveries() if one["app"] == SOUL.id]
    return [one for one in payloads if kind in (one["type"], one.get("event", {}).get("type"))]


async def pictured(page: Page, name: str) -> None:
    for scheme in ("light", "dark") if PICTURES else ():
        await page.emulate_media(color_scheme=scheme)
        await page.screenshot(path=Path(str(PICTURES)) / f"{name}-{scheme}.png")


async def test_buttons_are_pressed_and_vanish(here: Desk, chromium: Windows) -> None:
    root = await question(here)
    await here.remember(DM, root, RUN)
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(here.url)
    asked = page.locator(".replies .message")
    await expect(asked.locator(".text strong")).to_have_text("on")
    await pictured(page, "buttons")
    await asked.get_by_role("button", name="Continue").click()
    await until(lambda: sent(here, "block_actions"))
    await expect(asked.get_by_role("button", name="Continue")).to_be_enabled()
    (press,) = sent(here, "block_actions")
    assert (press["user"]["id"], press["actions"][0]["action_id"]) == (ALICE.id, "continue")
    ts = press["message"]["ts"]
    await here.client().chat_update(channel=DM, ts=ts, markdown_text="Alice chose “Continue”.")
    await expect(asked).to_contain_text("Alice chose")
    await expect(asked.locator(".actions")).to_have_count(0)


@SOAK
async def test_a_press_that_is_refused_says_so(here: Desk, chromium: Windows) -> None:
    await question(here)
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(here.url)
    asked = page.locator(".replies .message")
    await page.route("**/rehearsal/press", lambda route: route.fulfill(json={"ok": False, "error": "no"}))
    await asked.get_by_role("button", name="Continue").click()
    await expect(asked.get_by_role("alert")).to_have_text("This was not pressed: no.")


async def test_stop_stands_beside_the_work_and_stops_it(here: Desk, chromium: Windows) -> None:
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(here.url)
    root = await question(here)
    status = page.locator(".status")
    await expect(status).to_contain_text("searching memory (2/5)")
    stop = status.get_by_role("button", name="Stop")
    await stop.click()
    await until(lambda: sent(here, "agent_session_stopped"))
    await expect(stop).to_be_visible()
    (event,) = sent(here, "agent_session_stopped")
    assert (event["event"]["user"], event["event"]["thread_ts"]) == (ALICE.id, root)
    await page.reload()
    await expect(stop).to_be_visible()
    await here.client().agents_sessions_setStatus(channel_id=DM, thread_ts=root, status="active")
    await expect(stop).to_be_hidden()


@SOAK
async def test_a_reaction_is_given_and_taken_back(here: Desk, chromium: Windows) -> None:
    await question(here)
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(here.url)
    root = page.locator(".thread .message").first
    await root.hover()
    await root.get_by_role("button", name="React with 🛑").click()
    given = root.get_by_role("button", name="octagonal_sign, Alice")
    await expect(given).to_have_attribute("aria-pressed", "true")
    assert sent(here, "reaction_added")[0]["event"]["reaction"] == "octagonal_sign"
    await given.click()
    await expect(given).to_have_count(0)


async def test_a_whisper_is_seen_by_one_person_until_they_look_again(here: Desk, chromium: Windows) -> None:
    root = await question(here)
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(here.url)
    await expect(page.locator(".replies .message")).to_have_count(1)
    text = f"problem_solving, 4 calls, $0.01: <{here.url}/#{THREAD}|all of it>"
    await here.client().chat_postEphemeral(channel=DM, user=ALICE.id, thread_ts=root, text=text)
    whisper = page.locator(".message.whisper")
    await expect(whisper).to_contain_text("Only visible to you")
    await expect(whisper.get_by_role("link")).to_have_attribute("href", f"{here.url}/#{THREAD}")
    await pictured(page, "whisper")
    await page.reload()
    await expect(page.locator(".replies .message")).to_have_count(1)


@SOAK
async def test_a_run_reads_well_in_the_journal(here: Desk, chromium: Windows) -> None:
    await here.remember(DM, await question(here), RUN)
    page = await chromium.new_page(viewport=ViewportSize(width=1440, height=1300))
    await page.goto(here.url)
    await page.locator("#filter").get_by_text("All", exact=True).click()
    entries = page.locator("#entries > li")
    await expect(entries).to_have_count(len(RUN) + 1)
    words = await page.locator("#entries").inner_text()
    assert "{" not in words
    for told in (
        *("chooses", "I have to look it up.", "Research query: red", "looks up", "Find out what"),
        *("sees what came of it", "Research: fruit.md:12 red", "ends its run", "after 3 choices"),
        *("reaches a limit", "So many calls are enough for one turn.", "Shall I go on?", "waits"),
        *(
            "Alice presses",
            "Alice chose “Continue”",
            "Somebody stopped it",
            "Alice stops it",
            "with a 🛑",
        ),
        *("notes", "knows someone better", "sums up", "needs no answer any more"),
    ):
        assert told in words
    why = page.locator("#entries .thought", has_text="I have to look it up.")
    assert await why.evaluate("(node) => getComputedStyle(node).fontStyle") == "italic"
    await pictured(page, "run")


@SOAK
async def test_all_that_a_choice_is_to_be_given_stands_in_its_call(here: Desk, chromium: Windows) -> None:
    middle = "x" * 900 + " and delete the harbour " + "y" * 900
    chosen = choice("It is asked for.", {"name": "Publish", "args": {"text": middle}})
    began = SoulTurnBegan(execution=f"{THREAD}@2", inputs=(2,), process="problem_solving", texts="")
    await here.remember(DM, await question(here), [message("Publish it."), began, chosen])
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(here.url)
    moment = page.locator("#turns [data-part='chose']")
    await moment.hover()
    await moment.get_by_role("button", name="What the model saw").click()
    await expect(page.locator("#call-body .answer")).to_contain_text(middle)


@SOAK
async def test_a_link_opens_its_thread_as_someone_who_sees_it(here: Desk, chromium: Windows) -> None:
    theirs = (await here.client(BOB.token).chat_postMessage(channel="D0BOB000001", text="Mine."))["ts"]
    await here.client(BOB.token).chat_postMessage(channel="D0BOB000001", text="Later.")
    await here.remember("D0BOB000001", theirs, RUN)
    page = await chromium.new_page(viewport=SIZE)
    await page.goto(f"{here.url}/#{THREAD}")
    await expect(page.locator(".thread.open")).to_have_attribute("data-ts", theirs)
    await expect(page.get_by_role("radio", name="Bob")).to_be_checked()
    await expect(page.get_by_role("radio", name="Turns")).to_be_checked()
    await page.get_by_text("This thread", exact=True).click()
    await expect(page.locator("#entries > li")).to_have_count(len(RUN) + 1)


@SOAK
async def test_a_link_opens_its_thread_where_there_is_no_local_workspace(
    tmp_path: Path, browser: Browsing
) -> None:
    real = {"workspace": False, "model": False}
    async with desk(tmp_path, rehearsed=real) as here, browser() as chromium:
        await here.remember("C1", "1.000001", RUN)
        await here.journal.append("sess-0000000b", PromptFault(name="soul", text="another"), key="fault:1")
        page = await chromium.new_page(viewport=SIZE)
        await page.goto(f"{here.url}/#{THREAD}")
        await page.get_by_text("This thread", exact=True).click()
        await expect(page.locator("#entries > li")).to_have_count(len(RUN) + 1)
        await page.locator("#filter").get_by_text("All", exact=True).click()
        await expect(page.locator("#entries > li")).to_have_count(len(RUN) + 2)
