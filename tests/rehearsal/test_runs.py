"""The understudy in a run: an honest plan, holds, disconnects."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession, web

from daemon.app.discovery import BUILT_IN
from rehearsal.claude.asked import asked
from rehearsal.claude.lines import spoken_line
from rehearsal.claude.script import answer
from rehearsal.claude.understudy import ClaudeUnderstudy
from rehearsal.claude.wished import LOOKS, TALKS
from tests.attention import PATIENCE, until
from tests.clock import FakeClock

QUERY = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
    "additionalProperties": False,
}


def schema(*plain: str, **typed: dict[str, Any]) -> dict[str, Any]:
    objects = [
        {"type": "object", "properties": {"name": {"const": name}, "args": args}}
        for name, args in typed.items()
    ]
    items = {"anyOf": [{"enum": sorted([*plain, "DONE"])}, *objects]}
    actions = {"type": "array", "minItems": 1, "items": items}
    return {"type": "object", "properties": {"why": {"type": "string"}, "actions": actions}}


ALL = schema("Think", "Respond", "Escalate", Research=QUERY, SearchMemory=QUERY)


def body(*messages: tuple[str, str], form: dict[str, Any] | None = None) -> dict[str, Any]:
    said = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in messages]
    more = {"output_config": {"format": {"type": "json_schema", "schema": form}}} if form else {}
    return {"model": "claude-haiku-5-5", "max_tokens": 500, "messages": said, **more}


def run(words: str, form: dict[str, Any], rounds: int) -> list[Any]:
    """Return successive choices, each carried out."""
    head = "## Goal\nHelp.\n\n## Available Actions\n- **Think**: think\n- **Research**: look it up"
    told = [("user", f'<message from="Alice">\n{words}\n</message>'), ("user", head)]
    found = []
    for _ in range(rounds):
        chosen = json.loads(answer(body(*told, ("user", "Choose. JSON only."), form=form)))
        assert chosen["why"]
        (action,) = chosen["actions"]
        found.append(action)
        name = action if isinstance(action, str) else action["name"]
        result = f'What came of it:\n<result of="{name}">\nsomething\n</result>'
        told += [("assistant", json.dumps(chosen)), ("user", result)]
    return found


def test_whatever_the_daemon_itself_can_do_is_no_deed_of_its_owners() -> None:
    assert {one.name for one in BUILT_IN} == {*LOOKS, *TALKS}


def test_it_does_what_its_owner_has_added_where_it_is_wanted_by_name() -> None:
    form = schema("Think", "Respond", Research=QUERY, RollBack=QUERY)
    rolls_back = {"name": "RollBack", "args": {"query": "the ferry to 40"}}
    assert run("Please roll back the ferry to 40!", form, 3) == ["Think", rolls_back, "Respond"]
    assert run("Did anybody roll back the ferry?", form, 2)[1]["name"] == "Research"


def test_it_thinks_then_answers_then_is_done() -> None:
    assert run("Why?", ALL, 3) == ["Think", "Respond", "DONE"]


def test_it_looks_up_what_it_is_asked_to_find() -> None:
    words = "Please find the red fruit."
    looks_up = {"name": "Research", "args": {"query": "red fruit"}}
    assert run(words, ALL, 3) == ["Think", looks_up, "Respond"]
    assert run(words, schema("Think", "Respond"), 2) == ["Think", "Respond"]
    remembers = run("What did we say of the fruit last week?", ALL, 2)[1]
    assert remembers["name"] == "SearchMemory"


def test_several_things_are_looked_up_one_after_the_other() -> None:
    words = "Look up the van, the bees and the keys."
    looks_up = [{"name": "Research", "args": {"query": query}} for query in ("van", "bees", "keys")]
    assert run(words, ALL, 6) == ["Think", *looks_up, "Respond", "DONE"]


def test_it_follows_a_run_that_is_told_as_one_text() -> None:
    told = '<message from="Alice">\nWhy?\n</message>\n\nYou chose:\n{}\n\n<result of="Think">\nhm\n</result>'
    assert json.loads(answer(body(("user", f"{told}\n\nChoose."), form=ALL)))["actions"] == ["Respond"]


def test_it_chooses_only_what_is_offered() -> None:
    assert run("Find it.", schema("Escalate"), 1) == ["DONE"]


FORM = """Answer with exactly these sections:

<aside>…</aside> what Claudius thinks, that nobody else reads.
<say>…</say> what Claudius says to them: the only section that the others read.
<next>…</next> what Claudius turns to now, one of: closing, conversation, greeting, problem_solving.
<learned>…</learned> whether they told something of themselves, one of: no, yes."""


@pytest.mark.parametrize(
    ("words", "turns_to", "learned"),
    [
        ("Nice weather.", "conversation", "no"),
        ("I am a gardener, and I like closing gates.", "conversation", "yes"),
        ("Help me with the broken pump, please", "problem_solving", "no"),
        ("Can you find out why it rains?", "problem_solving", "no"),
        ("Thanks, bye!", "closing", "no"),
    ],
)
def test_it_decides_where_to_turn_and_whether_it_learned(words: str, turns_to: str, learned: str) -> None:
    text = answer(body(("user", f'<message from="Alice">\n{words}\n</message>'), ("user", FORM)))
    assert f"<next>{turns_to}</next>" in text
    assert f"<learned>{learned}</learned>" in text
    assert ("<say>Let me look.</say>" in text) == (turns_to == "problem_solving")


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Stop it.", "stop"),
        ("don't stop", "more"),
        ("And it is red.", "more"),
        ("By the way, what time is it?", "new"),
    ],
)
def test_it_tells_apart_what_comes_in_between(words: str, kind: str) -> None:
    form = {"type": "object", "properties": {"kind": {"enum": ["stop", "more", "new"]}}}
    asked = body(("user", f'<message from="Alice">\n{words}\n</message>'), ("user", "What is it?"), form=form)
    assert json.loads(answer(asked)) == {"kind": kind}


def test_it_sums_up_and_says_what_it_knows() -> None:
    heard = [
        ("user", f'<message from="{name}">\n{words}\n</message>')
        for name, words in (("Alice", "I like trees."), ("Bob", "It rains."))
    ]
    summary = answer(body(*heard, ("user", "Summarize this conversation.")))
    assert summary == "- Alice said: “I like trees.”\n- Bob said: “It rains.”"
    known = answer(body(*heard, ("user", "Write down what you know about them.")))
    assert known == "- Alice said: “I like trees.”"


FOUND = """What stands between `<result>` and `</result>` was found in the world.
<result of="Research">
fruit.md:3: The cherry is red.
</result>"""


def test_it_thinks_by_itself_and_tells_what_it_found() -> None:
    asks = ("user", '<message from="Alice">\nFind the red fruit.\n</message>')
    system = "Only what stands between `<say>` and `</say>` was read by the others."
    think = "Think about this by yourself: nobody else reads it. Without any tag."
    before = answer(body(asks, ("user", think)) | {"system": system})
    assert before.startswith("Alice wants: “Find the red fruit.”")
    assert before.endswith("so I look for “red” and “fruit”.")
    after = answer(body(asks, ("user", f"{FOUND}\n\n{think}")) | {"system": system})
    assert after.endswith("I have found: “fruit.md:3: The cherry is red.”")
    told = answer(
        body(asks, ("user", f"{FOUND}\n\nAnswer with exactly:\n\n<say>…</say> what you say aloud."))
    )
    assert told == ("<say>Here is what stands in our files, Alice:\n- The cherry is red. (fruit.md:3)</say>")


@pytest.fixture
async def understudy() -> ClaudeUnderstudy:
    return ClaudeUnderstudy(FakeClock(), pace=0)


@pytest.fixture
async def url(understudy: ClaudeUnderstudy) -> AsyncIterator[str]:
    app = web.Application()
    understudy.mount(app)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1/messages"
    await runner.cleanup()


async def test_it_sees_within_a_moment_that_nobody_waits_for_its_answer(
    understudy: ClaudeUnderstudy, url: str
) -> None:
    understudy.say("once upon a time", until=asyncio.Event(), first=4)
    asked = {**body(("user", "Tell me.")), "stream": True}
    async with ClientSession(headers={"x-api-key": "any"}) as http, asyncio.timeout(PATIENCE):
        response = await http.post(url, json=asked)
        while b"once" not in await response.content.readline():
            pass
        assert understudy.closed == []
        left = time.monotonic()
        response.close()
        await until(lambda: understudy.closed)
    (closed,) = understudy.closed
    assert closed.request == 1
    assert left <= closed.at


async def test_an_answer_is_held_until_it_is_released(understudy: ClaudeUnderstudy, url: str) -> None:
    released = asyncio.Event()
    understudy.say("once upon a time", until=released, first=4)
    async with ClientSession(headers={"x-api-key": "any"}) as http, asyncio.timeout(PATIENCE):
        response = await http.post(url, json={**body(("user", "Tell me.")), "stream": True})
        while b"once" not in await response.content.readline():
            pass
        released.set()
        assert b"message_stop" in await response.content.read()
    assert understudy.closed == []


async def test_replies_wait_for_the_request_that_they_are_for(understudy: ClaudeUnderstudy, url: str) -> None:
    understudy.say("for the wise", model="claude-opus*")
    understudy.say("for who chooses", asks="actions")
    understudy.say("for anyone")
    requests = [body(("user", "one")), body(("user", "two")), body(("user", "choose"), form=CLOSED)]
    async with ClientSession(headers={"x-api-key": "any"}) as http, asyncio.timeout(PATIENCE):
        said = [await text(http, url, one) for one in (requests[0], requests[2])]
        understudy.script = lambda request: f"by the script for {request['model']}"
        said.append(await text(http, url, requests[1]))
        said.append(await text(http, url, {**requests[1], "model": "claude-opus-5-5"}))
    assert said == ["for anyone", "for who chooses", "by the script for claude-haiku-5-5", "for the wise"]


CLOSED = {"type": "object", "properties": {"actions": {"type": "string"}}, "additionalProperties": False}


async def text(http: ClientSession, url: str, asked: dict[str, Any]) -> str:
    async with http.post(url, json=asked) as response:
        return str((await response.json())["content"][-1]["text"])


@pytest.mark.parametrize(
    ("result", "pressed", "told"),
    [
        ("three loaves", "Approve", "Done, Alice. three loaves"),
        ("it was not called: its server is away.", "Go on", "That went wrong, Alice: it was not called: "),
        ("nobody knows whether this was done", "Approve", "That went wrong, Alice: nobody knows"),
        ("it was not called: somebody said no", "Decline", "As you wish, Alice: I have left it."),
    ],
)
def test_the_result_of_a_tool_is_told_as_what_it_is(result: str, pressed: str, told: str) -> None:
    said = ['<message from="Alice">\nBake it.\n</message>', f"[Alice chose “{pressed}”]"]
    said.append(f'<result of="bakery.bake">\n{result}\n</result>\n\nAnswer in <say>, and nothing else.')
    blocks = [{"type": "text", "text": text} for text in said]
    request = asked({"messages": [{"role": "user", "content": blocks}]})
    assert spoken_line(request).startswith(told)
