"""Texts that mean stop, and their inputs."""

from __future__ import annotations

import asyncio

import pytest

from daemon.engine.event import Input, InputRank
from daemon.kinds import IncomingMessage, OverheardMessage, StopRequest
from daemon.slack.message_policy import ASIDE, STOP, is_stop_word
from tests.slack import work
from tests.slack.office import GENERAL, ME, Office, until

SAYS_STOP = (
    *(
        "stop",
        "stop!",
        "STOP.",
        "*stop*",
        "_Stop_…",
        " stop \n",
        "please stop",
        "Stop, please!",
        "ok stop now",
    ),
    *("stop stop stop", "stop it!", "🛑", "🛑🛑", ":octagonal_sign:", "stop :pray::skin-tone-3:", "⛔\ufe0f"),
    *("Claudius, stop", "stop claudius!", "Hör auf!", "Bitte hör auf", "ARRÊTE !", "arre\u0302te", "¡para!"),
    *("СТОП", "रुको", "停止。", "やめて", "멈춰", "توقف", "עצור", "dừng lại"),
)
SAYS_MORE = (
    *(
        "don't stop",
        "stop it, I mean go on",
        "stop words",
        "nonstop",
        "please",
        "",
        "!",
        "Claudius",
        "no",
        "x",
    ),
    *("stop at five", "when do you stop?", "unstoppable", "the bus stop", "go on", ":raised_hand:", ":x:"),
    *("stop\nthe timer", "halt and catch fire", "&gt; stop", "s t o p", "Stop, Bob", "🛑 sign", "stop 1"),
)


@pytest.mark.parametrize("text", SAYS_STOP)
def test_it_says_stop(text: str) -> None:
    assert is_stop_word(text, "Claudius")


@pytest.mark.parametrize("text", SAYS_MORE)
def test_it_says_something_else(text: str) -> None:
    assert not is_stop_word(text, "Claudius")


def test_every_word_of_the_tables_can_be_said() -> None:
    assert all(is_stop_word(word.replace("_", " ").upper()) for word in STOP)
    assert not any(is_stop_word(word) for word in ASIDE)


async def test_a_stop_word_is_a_perception_of_its_own_rank(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    await here.say("alice", GENERAL, "stop", root)
    await here.say("alice", GENERAL, f"{ME} Stop!", root)
    await here.say("alice", GENERAL, "don't stop", root)
    assert [entry.kind for entry in here.entries(Input)] == ["message", "stop", "stop", "message"]
    stop = work.stops(here)[0].event
    assert (stop.address, stop.name, stop.text) == ("follow-up", "Alice", "stop")


async def test_a_stop_word_in_a_dm_is_one_too(here: Office) -> None:
    await here.say("alice", await here.dm("alice"), "stop.")
    assert here.one(Input).event.rank is InputRank.STOP


async def test_a_stop_word_that_is_not_for_the_soul_is_none(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    await here.say("bob", GENERAL, "<@U0CAROL0003> stop", root)
    await here.say("bob", GENERAL, "stop")
    await here.say("bob", await here.dm("bob"), "<@U0CAROL0003> stop")
    assert here.one(OverheardMessage).event.text == "@Carol stop"
    assert work.stops(here) == []


TRACE = ["!trace", f"{ME} !trace", f"!Trace {ME}", "  !trace  "]
HELP = ["!help", f"{ME} !help", f"!Help {ME}", " !HELP ", "`!help`", "!help memory", "!help!"]
UNKNOWN = ["!tracer", "!halp", f"{ME} !status", "!notes 3", "!notes 3: milk", "!erase me", "!hilfe"]
ORDINARY = [
    *("trace", "!trace it", "what is !trace?", "!trace !trace"),
    *("!!!", "!= 3", "!important thing happened", "! help", "!5", "!", "!?", "!!help", "what is !help?"),
    *("!help me with this report", "!important: the server is down", "!wow!", "!halp\nand more", "-!x"),
]
COMMANDS = {"trace": TRACE, "help": HELP, "unknown": UNKNOWN, "": ORDINARY}


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_is_told_from_ordinary_text_with_an_exclamation_mark(
    here: Office, command: str
) -> None:
    dm, texts = await here.dm("alice"), COMMANDS[command]
    for text in texts:
        await here.say("alice", dm, text)
    said = [(entry.event.command, entry.event.rank) for entry in here.entries(IncomingMessage)]
    assert dict(zip(texts, said, strict=True)) == dict.fromkeys(texts, (command, InputRank.MESSAGE))


async def test_a_stop_word_waits_for_no_name(here: Office) -> None:
    here.wire.lacking.add("users.info")
    root = await here.say("alice", GENERAL, f"{ME} hello")
    await here.caught_up()
    here.wire.calls.clear()
    await here.say("alice", GENERAL, "stop", root)
    assert here.wire.told("users.info") == []
    (stop,) = work.stops(here)
    assert stop.event.name == stop.author


async def test_where_it_works_a_stop_word_overtakes_a_message_that_waits_for_a_name(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    await work.begins(here, here.one(IncomingMessage))
    await here.caught_up()
    here.wire.held["users.info"] = asyncio.Event()
    post = here.client("bob").chat_postMessage
    await post(channel=GENERAL, text="what is it?", thread_ts=root)
    await until(lambda: len(here.wire.told("users.info")) == 3)  # the soul, Alice, and now Bob
    for text in ("and more", "stop"):
        await here.client("alice").chat_postMessage(channel=GENERAL, text=text, thread_ts=root)
    await until(lambda: bool(work.stops(here)))
    assert [entry.event.text for entry in here.entries(IncomingMessage, StopRequest)] == [
        "@Claudius hello",
        "stop",
    ]
    here.wire.held["users.info"].set()
    await here.acked()
    assert [entry.event.name for entry in here.entries(IncomingMessage)[1:]] == ["Bob", "Alice"]


async def test_where_nothing_runs_a_stop_word_keeps_its_place(here: Office) -> None:
    dm = await here.dm("alice")
    root = await here.say("alice", dm, "hello")
    await work.ends(here, await work.begins(here, here.one(IncomingMessage)))
    await here.caught_up()
    here.wire.held["users.info"] = asyncio.Event()
    post = here.client("alice").chat_postMessage
    await post(channel=dm, text="ask <@U0BOB000002>", thread_ts=root)
    await until(lambda: len(here.wire.told("users.info")) == 3)
    await post(channel=dm, text="stop", thread_ts=root)
    await until(lambda: here.world.workspace.courier.deliveries()[-1]["attempts"] == 1)
    await here.clock.advance(0)
    here.wire.held["users.info"].set()
    await here.acked()
    assert [entry.event.text for entry in here.entries(IncomingMessage, StopRequest)] == [
        "hello",
        "ask @Bob",
        "stop",
    ]


async def test_a_stop_word_that_was_said_long_ago_stops_nothing(here: Office) -> None:
    dm = await here.dm("alice")
    root = await here.say("alice", dm, "hello")
    await here.slack.stop()
    await here.client("alice").chat_postMessage(channel=dm, text="stop", thread_ts=root)
    assert work.stops(here) == []
