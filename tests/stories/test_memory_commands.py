"""`!memory`: notes shown, corrected, forgotten."""

from __future__ import annotations

import asyncio

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.engine.event import entry_as_json
from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import TEAM
from tests.soak import SOAK, shared
from tests.stories.choosing import FAST, outcomes, pressed, questions, whispers
from tests.stories.stage import ALICE, BOB, CAROL, GENERAL, ME, RANDOM, Stage, reply
from tests.stories.test_forgetting import forgotten, learned, traces, until_told

BEES, CHESS = "- keeps beehives behind the windmill", "- plays chess at the Adler on Thursdays"


async def tell(stage: Stage, name: str, channel: str, words: str, noted: str) -> None:
    stage.model.say(learned("I see.", "Hm."))
    stage.model.say(noted, model=FAST)
    await stage.say(name, channel, words)


async def both(stage: Stage) -> None:
    await tell(stage, "alice", ALICE, "I have my bees behind the windmill.", BEES)
    await tell(stage, "alice", GENERAL, f"{ME} I am at the Adler on Thursdays, for chess.", CHESS)


async def listed(stage: Stage, name: str = "alice", channel: str = ALICE) -> str:
    ts = await stage.say(name, channel, "!memory")
    return "\n".join(await stage.answers(channel, ts))


async def test_everybody_is_shown_what_is_noted_about_them_and_who_else_may_know(stage: Stage) -> None:
    await both(stage)
    await tell(stage, "bob", GENERAL, f"{ME} I sail.", "- sails a catamaran")
    calls = len(stage.entries("model-call"))
    shown = await listed(stage)
    first, second = shown.index(f"*1.* {BEES}"), shown.index(f"*2.* {CHESS}")
    assert "nobody but you and me" in shown[first:second]
    assert "#general" in shown[second:]
    assert "everybody in this workspace" in shown[second:]
    assert "catamaran" not in shown
    assert "nothing about you" in await listed(stage, "carol", CAROL)
    assert len(stage.entries("model-call")) == calls, "it costs nothing"
    stage.model.say(reply("Hello."))
    await stage.say("alice", ALICE, "Hello")
    assert "!memory" not in stage.asked()[-1]
    assert not verify_journal(stage.soul.journal).violations


async def test_it_is_answered_in_the_dm_wherever_it_was_asked(stage: Stage) -> None:
    await both(stage)
    ts = await stage.say("alice", RANDOM, f"{ME} !memory")
    assert await stage.answers(RANDOM, ts) == []
    said = await stage.client("alice").conversations_history(channel=ALICE)
    assert BEES.removeprefix("- ") in str(said["messages"])
    await stage.say("alice", RANDOM, f"{ME} !forget 1", ts)
    await pressed(stage, "alice", "Forget it")
    await until_told(stage)
    assert [entry.event.person for entry in stage.entries("to-forget")] == [ALICE_HERSELF.id]


async def test_what_is_corrected_is_known_so_from_then_on(stage: Stage) -> None:
    await both(stage)
    await listed(stage)
    await stage.say("alice", ALICE, "!memory 2: plays go, not chess, at the Adler")
    stage.model.say(reply("Hello."))
    await stage.say("alice", RANDOM, f"{ME} hello")
    assert "plays go, not chess" in stage.asked()[-1], "it may be known where the note might"
    assert CHESS not in stage.asked()[-1]
    shown = await listed(stage)
    assert "plays go, not chess" in shown
    assert CHESS not in shown
    assert "#general" in shown
    assert not verify_journal(stage.soul.journal).violations


async def test_one_note_is_forgotten_with_all_its_versions(stage: Stage) -> None:
    await both(stage)
    await tell(stage, "bob", GENERAL, f"{ME} I sail.", "- sails a catamaran")
    await listed(stage)
    await stage.say("alice", ALICE, "!memory 2: plays bughouse at the Adler")
    shown = await listed(stage)
    assert "bughouse" in shown
    ts = await stage.say("alice", ALICE, "!forget 2")
    assert "bughouse" in (await stage.answers(ALICE, ts))[0], "what would be forgotten is said"
    await pressed(stage, "alice", "Forget it")
    await until_told(stage)
    assert traces(stage, "bughouse", "plays chess") == []
    told = str([entry_as_json(entry) for entry in stage.entries()])
    assert "beehives" in told
    assert "catamaran" in told
    assert "for chess" in told, "her messages stay"
    assert "bughouse" not in await listed(stage)
    assert not verify_journal(stage.soul.journal).violations


async def test_what_is_confirmed_is_forgotten_though_slack_refuses_to_take_that_it_begins(
    stage: Stage,
) -> None:
    await both(stage)
    ts = await stage.say("alice", ALICE, "!forget me")
    stage.wire.refuse["chat.postMessage"] = ["is_archived"]
    await pressed(stage, "alice", "Forget it")
    await until_told(stage)
    assert outcomes(stage)[-2:] == ["abandoned", "completed"]
    assert traces(stage, "beehives", "chess") == []
    assert "It is done" in (await stage.answers(ALICE, ts))[-1]
    assert not verify_journal(stage.soul.journal).violations


async def test_what_is_confirmed_is_forgotten_though_it_reads_otherwise_by_then(stage: Stage) -> None:
    await both(stage)
    await listed(stage)
    ts = await stage.say("alice", ALICE, "!forget 2")
    await tell(stage, "alice", GENERAL, f"{ME} and I paint.", "- plays chess, and paints")
    await pressed(stage, "alice", "Forget it")
    await until_told(stage)
    assert traces(stage, CHESS, "and paints") == [], "what was made from it, too"
    assert len(await stage.answers(ALICE, ts)) == 3
    assert not whispers(stage)
    assert not stage.entries("restarted")
    assert not verify_journal(stage.soul.journal).violations


@pytest.mark.parametrize(
    ("words", "says"), [("!memory", f"*2.* {CHESS}"), ("!memory 2: plays go", "reads as you said")]
)
async def test_killed_before_it_has_answered_it_says_what_it_meant_to(
    stage: Stage, words: str, says: str
) -> None:
    await both(stage)
    await listed(stage)
    notes, learns = len(stage.entries("person")), asyncio.Event()
    await stage.sleep()
    ts = await stage.post("alice", ALICE, words)
    await stage.post("alice", GENERAL, f"{ME} and I paint.")
    stage.model.say(learned("I see.", "Hm."))
    stage.model.say("- plays chess, and paints", model=FAST, until=learns)
    stage.wire.held["chat.postMessage"] = asyncio.Event()
    before = len(stage.wire.told("chat.postMessage"))
    await stage.wake()
    await stage.until(lambda: len(stage.wire.told("chat.postMessage")) > before)
    learns.set()
    await stage.until(lambda: len(stage.entries("person")) > notes)
    await stage.sleep()
    stage.wire.held.clear()
    await stage.wake()
    await stage.settled()
    [said] = await stage.answers(ALICE, ts)
    assert says in said
    assert not stage.entries("restarted")
    assert not verify_journal(stage.soul.journal).violations


@SOAK
async def test_a_number_means_what_the_last_list_said(stage: Stage) -> None:
    await both(stage)
    await listed(stage)
    await tell(stage, "alice", ALICE, "And I paint.", "- keeps beehives, and paints")
    ts = await stage.say("alice", ALICE, "!forget 1")
    assert "changed since" in (await stage.answers(ALICE, ts))[0]
    ts = await stage.say("alice", ALICE, "!memory 2: plays go")
    assert "reads as you said" in (await stage.answers(ALICE, ts))[0]
    for words in ("!forget 7", "!forget 0"):
        ts = await stage.say("alice", ALICE, words)
        assert "no note" in (await stage.answers(ALICE, ts))[0]
    assert not questions(stage)


@pytest.mark.parametrize(
    "words", shared(["!forget", "!forget everybody", "!memory of Bob", "!forget me: now", "!memory 3"], 3)
)
async def test_what_cannot_be_understood_is_explained(stage: Stage, words: str) -> None:
    ts = await stage.say("alice", ALICE, words)
    [said] = await stage.answers(ALICE, ts)
    if words == "!forget me: now":
        assert "Shall I forget you?" in said
    else:
        assert "`!forget 3` has it forgotten" in said
    assert not stage.entries("model-call")


async def test_it_is_understood_behind_a_name_with_an_exclamation_mark(dormant: Stage) -> None:
    dormant.wire.answers["users.info"] = {"user": {"team_id": TEAM, "profile": {"display_name": "Yes!"}}}
    await dormant.wake()
    ts = await dormant.say("alice", ALICE, f"{ME} !forget me")
    assert dormant.entries("message")[0].event.text == "@Yes! !forget me"
    [said] = await dormant.answers(ALICE, ts)
    assert "Shall I forget you?" in said


async def test_a_name_that_somebody_takes_leads_to_nobodys_notes(stage: Stage) -> None:
    stage.model.say(reply("Hello Bob."))
    await stage.say("bob", BOB, "Hello")
    assert "nothing about you" in await listed(stage)
    await forgotten(stage)
    assert "Hello Bob" in str([entry_as_json(entry) for entry in stage.entries("spoken")])


async def test_a_corrected_note_keeps_its_number(stage: Stage) -> None:
    await both(stage)
    await listed(stage)
    await stage.say("alice", ALICE, "!memory 1: keeps goats")
    await stage.say("alice", ALICE, "!memory 1: keeps goats and geese")
    ts = await stage.say("alice", ALICE, "!forget 1")
    assert "keeps goats and geese" in (await stage.answers(ALICE, ts))[0], "without another list"
    await pressed(stage, "alice", "Keep it")
    shown = await listed(stage)
    first, second = shown.index("*1.*"), shown.index("*2.*")
    assert "keeps goats and geese" in shown[first:second]
    assert CHESS in shown[second:]
    await stage.sleep()
    await stage.wake()
    await stage.say("alice", ALICE, "!memory 2: plays go")
    assert (await listed(stage)).index("goats") < (await listed(stage)).index("plays go")
    ts = await stage.say("alice", ALICE, "!forget 2")
    assert "plays go" in (await stage.answers(ALICE, ts))[0]
    assert not verify_journal(stage.soul.journal).violations


async def test_a_number_means_no_note_that_was_learned_anew_since(stage: Stage) -> None:
    await both(stage)
    await listed(stage)
    await tell(stage, "alice", GENERAL, f"{ME} and I paint.", "- plays chess, and paints")
    ts = await stage.say("alice", ALICE, "!memory 2: plays go")
    assert "it has changed since" in (await stage.answers(ALICE, ts))[0]
