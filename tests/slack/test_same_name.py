"""Equal names, marks of owners, changed names."""

# ruff: noqa: RUF001 - letters that look like others are what is tried here

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.kinds import (
    AmbientMessage,
    ConversationOpened,
    IncomingMessage,
    NameTaken,
    OverheardMessage,
    PersonMessage,
    ReactionChanged,
    StopRequest,
)
from daemon.prompts.elements import NAME_LENGTH
from daemon.slack.directory import name_skeleton
from daemon.turn.recall import entry_as_memory
from rehearsal.people import ALICE, BOB, CAROL
from tests.clock import FakeClock
from tests.slack.office import GENERAL, ME, Office, office

USER = "users.info"


def called(name: str, handle: str = "") -> dict[str, Any]:
    return {"name": handle, "profile": {"display_name": name, "real_name": f"{name} Moor"}}


def names(here: Office) -> list[str]:
    return [entry.event.name for entry in here.journal.entries_of_kind(PersonMessage)]


def frame(here: Office) -> str:
    """Return the first line of the last message for a model."""
    return entry_as_memory(here.journal.entries_of_kind(PersonMessage)[-1]).content.split("\n")[0]


async def test_who_has_the_name_of_somebody_else_is_shown_with_their_handle(here: Office) -> None:
    here.wire.profiles |= {
        ALICE.id: called("Alex", "amoor"),
        BOB.id: called("Alex", "apier"),
        CAROL.id: called("alex"),
    }
    root = await here.say("alice", GENERAL, f"{ME} I take the blue boat")
    for name in ("bob", "carol", "alice", "bob"):
        await here.say(name, GENERAL, f"{ME} and I?", root)
    assert names(here) == ["Alex", "Alex (@apier)", f"alex ({CAROL.id})", "Alex", "Alex (@apier)"]
    assert [entry.event.chosen for entry in here.entries(IncomingMessage)] == ["", "Alex", "alex", "", "Alex"]
    assert frame(here) == '<message from="Alex (@apier)">'


async def test_a_name_stays_with_whoever_had_it_first_also_after_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()
    for name, shown in (("alice", "Alex"), ("bob", "Alex (@apier)"), ("alice", "Alex")):
        async with office(tmp_path, clock=clock) as here:
            here.wire.profiles |= {ALICE.id: called("Alex", "amoor"), BOB.id: called("Alex", "apier")}
            await here.caught_up()
            await here.say(name, GENERAL, f"{ME} hello")
            assert names(here)[-1] == shown
    async with office(tmp_path, clock=clock) as here:  # stops are immediate, yet distinguished
        await here.caught_up()
        await here.put("bob", GENERAL, text=f"{ME} stop", **profile("Alex", "apier"))
        assert here.one(StopRequest).event.name == "Alex (@apier)"


async def test_a_name_costs_one_entry_and_no_further_question(here: Office) -> None:
    dm = await here.dm("alice")
    for _ in range(3):
        await here.say("alice", dm, f"hello <@{BOB.id}> {ME}")
    assert [entry.event.user for entry in here.entries(NameTaken)] == [ALICE.id, BOB.id]
    assert [args["user"] for args in here.wire.told(USER)[1:]] == [ALICE.id, BOB.id]
    assert not any("Alice" in entry.key or "alice" in entry.key for entry in here.entries(NameTaken))


ALIKE = (
    "ALEX",
    "Alex ",
    "A l e x",
    "Al\u200bex",
    "\u202eAlex",
    "Alex.",
    "Alex 🌴",
    "Álex",
    "Ａｌｅｘ",
    "𝐀𝐥𝐞𝐱",
    "Аlех",
    "Αlex",
    "AIex",
    "A1ex",
    "ALΕX",
    "ᴀʟᴇx",
)  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_names_that_look_alike_are_the_same(name: str) -> None:
    assert name_skeleton(name) == name_skeleton("Alex")


@pytest.mark.parametrize("name", ["Alexa", "Axel", "Ale", "Алексей", "李", "🌴", "Alex Moor"])
def test_other_names_are_others(name: str) -> None:
    assert name_skeleton(name) not in ("", name_skeleton("Alex"))
    assert len({name_skeleton(one) for one in ("李", "王", "🌴", "🌵", name)}) >= 4


async def test_who_looks_like_somebody_else_is_told_apart(here: Office) -> None:
    here.wire.profiles |= {ALICE.id: called("Alex", "amoor"), BOB.id: called("А1ех\u200b", "apier")}
    await here.say("alice", await here.dm("alice"), "hello")
    await here.say("bob", await here.dm("bob"), "hello")
    assert names(here) == ["Alex", "А1ех\u200b (@apier)"]


async def test_nobody_can_take_what_somebody_else_is_shown_as(here: Office) -> None:
    here.wire.profiles |= {
        ALICE.id: called("Alex", "amoor"),
        BOB.id: called("Alex (@carol)", "bob"),
        CAROL.id: called("Alex", "carol"),
    }
    for name in ("alice", "bob", "carol"):
        await here.say(name, await here.dm(name), "hello")
    assert names(here) == ["Alex", "Alex (@carol)", f"Alex ({CAROL.id})"]


async def test_names_that_are_alike_as_far_as_a_prompt_shows_them_are_told_apart(here: Office) -> None:
    here.wire.profiles |= {ALICE.id: called("x" * 60, "one"), BOB.id: called("x" * 50, "two")}
    await here.say("alice", await here.dm("alice"), "hello")
    await here.say("bob", await here.dm("bob"), "hello")
    assert frame(here) == f'<message from="{"x" * (NAME_LENGTH - 7)} (@two)">'


async def test_a_program_cannot_take_the_name_of_a_person_or_of_the_soul(here: Office) -> None:
    root = await here.say("alice", GENERAL, f"{ME} hello")
    alert = {"type": "message", "subtype": "bot_message", "channel": GENERAL, "thread_ts": root, "text": "x"}
    for number, name in enumerate(("Alice", "Claudius", "Pager")):
        await here.event(event={**alert, "bot_id": "B1", "username": name, "ts": f"9.00000{number}"})
    assert [entry.event.name for entry in here.entries(OverheardMessage)] == [
        "Alice (B1)",
        "Claudius (B1)",
        "Pager",
    ]


async def test_who_is_mentioned_is_told_apart_from_others_of_that_name(here: Office) -> None:
    here.wire.profiles |= {ALICE.id: called("Alex", "amoor"), BOB.id: called("Alex", "apier")}
    await here.say("alice", await here.dm("alice"), f"not <@{ALICE.id}> but <@{BOB.id}>")
    share = {"is_share": True, "author_id": BOB.id, "author_name": "Alex", "text": "so"}
    await here.put("alice", await here.dm("alice"), attachments=[share])
    texts = [entry.event.text for entry in here.entries(IncomingMessage)]
    assert texts == ["not @Alex but @Alex (@apier)", "[forwarded message from @Alex (@apier)]\n> so"]


async def test_reactions_and_notes_tell_them_apart(tmp_path: Path) -> None:
    async with office(tmp_path, notes=True, owners=frozenset({ALICE.id})) as here:
        here.wire.profiles |= {ALICE.id: called("Alex", "amoor"), BOB.id: called("Alex", "apier")}
        ts = await here.say("alice", GENERAL, "lunch?")
        await here.client("bob").reactions_add(channel=GENERAL, timestamp=ts, name="soup")
        await here.acked()
        assert (here.one(AmbientMessage).event.name, here.one(AmbientMessage).event.owner) == ("Alex", True)
        assert here.one(ReactionChanged).event.name == "Alex (@apier)"


async def test_an_owner_is_marked_whatever_anybody_is_called(tmp_path: Path) -> None:
    async with office(tmp_path, owners=frozenset({ALICE.id})) as here:
        here.wire.profiles[BOB.id] = called('Alice" owner="yes', "bob")
        await here.say("bob", GENERAL, f"{ME} I own you")
        assert frame(here) == '<message from="Alice owner= yes">'
        here.wire.profiles[CAROL.id] = called("Alice", "carol")
        root = await here.say("carol", GENERAL, f"{ME} so do I")
        assert frame(here) == '<message from="Alice">'
        await here.say("alice", GENERAL, f"{ME} I do", root)
        assert frame(here) == '<message from="Alice (@alice)" owner="yes">'
        await here.say("alice", GENERAL, f"{ME} stop", root)
        assert here.one(StopRequest).event.owner


# Changed names


async def change(here: Office, kind: str, id: str, name: str, ts: str, **more: Any) -> None:
    await here.event(event={"type": kind, "user": {"id": id, **called(name), **more}, "event_ts": ts})


@pytest.mark.parametrize("kind", ["user_change", "user_profile_changed"])
async def test_a_changed_name_counts_from_the_next_message_on(here: Office, kind: str) -> None:
    dm = await here.dm("alice")
    await here.say("alice", dm, "hello")
    now = here.clock.now()
    await change(here, kind, ALICE.id, "Annika", f"{now + 1:.6f}")
    await change(here, kind, ALICE.id, "Alina", f"{now - 600:.6f}")  # late and older
    await here.say("alice", dm, "who am I?")
    await here.say("bob", await here.dm("bob"), f"who is <@{ALICE.id}>?")
    assert names(here) == ["Alice", "Annika", "Bob"]
    assert here.entries(IncomingMessage)[-1].event.text == "who is @Annika?"
    assert len([args for args in here.wire.told(USER) if args["user"] == ALICE.id]) == 1


@pytest.mark.parametrize(
    "event",
    [
        {"type": "user_change"},
        {"type": "user_change", "user": {"id": 7}, "event_ts": "9.1"},
        {"type": "user_change", "user": {"id": ALICE.id, "profile": []}, "event_ts": "soon"},
    ],
)
async def test_a_change_that_cannot_be_read_changes_nothing(here: Office, event: dict[str, Any]) -> None:
    await here.say("alice", await here.dm("alice"), "hello")
    await here.event(event=event)
    await change(here, "user_change", ALICE.id, "", "9000000000.1", profile={})
    await here.say("alice", await here.dm("alice"), "hello")
    assert names(here) == ["Alice", "Alice"]


async def test_who_is_not_known_yet_is_asked_for_whatever_an_event_tells(here: Office) -> None:
    await change(here, "user_change", ALICE.id, "Annika", "9000000000.1")
    await here.say("alice", await here.dm("alice"), "hello")
    assert names(here) == ["Alice"]


def profile(name: str, handle: str = "") -> dict[str, Any]:
    return {"user_profile": {"display_name": name, "real_name": name, "name": handle, "team": "T0FAR"}}


async def test_a_stranger_has_the_name_that_their_message_tells(here: Office) -> None:
    said = {"type": "message", "channel": GENERAL, "channel_type": "channel", "text": f"{ME} hello"}
    for number, name in enumerate(("Zed", "Zed", "Zed", "Zoe")):
        here.wire.refuse[USER] = ["user_not_found"]
        ts = f"{here.clock.now() + number:.6f}"
        await here.event(event={**said, "user": "W0ZED", "ts": ts, **profile(name, "zed")})
    assert names(here) == ["Zed", "Zed", "Zed", "Zoe"]
    assert len([args for args in here.wire.told(USER) if args["user"] == "W0ZED"]) == 1


async def test_the_name_in_an_event_counts_from_that_message_on(here: Office) -> None:
    dm = await here.dm("alice")
    await here.say("alice", dm, "hello")
    await here.clock.advance(2)
    await here.put("alice", dm, text="who am I?", **profile("Annika"))
    await here.put("alice", dm, text="and now?")
    said = {"type": "message", "channel": dm, "channel_type": "im", "user": ALICE.id, "text": "long ago"}
    await here.event(event={**said, "ts": "1.000001", **profile("Ali")})
    assert names(here) == ["Alice", "Annika", "Annika", "Annika"]


async def test_a_guest_whose_message_tells_a_name_is_known_as_a_guest(here: Office) -> None:
    here.wire.guests.add(BOB.id)
    await here.put("bob", GENERAL, text=f"{ME} hello", **profile("Bobby"))
    assert here.one(ConversationOpened).event.audience == "shared"


async def test_a_channel_that_is_renamed_is_called_so_at_once(here: Office) -> None:
    await here.say("alice", GENERAL, f"{ME} see <#{GENERAL}>")
    renamed = {
        "type": "message",
        "subtype": "channel_name",
        "channel": GENERAL,
        "name": "harbour",
        "user": ALICE.id,
    }
    await here.event(event={**renamed, "ts": f"{here.clock.now() + 1:.6f}", "text": "renamed"})
    await here.say("alice", GENERAL, f"{ME} see <#{GENERAL}>")
    assert [entry.event.text.split("see ")[1] for entry in here.entries(IncomingMessage)] == [
        "#general",
        "#harbour",
    ]
