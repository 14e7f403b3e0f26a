"""Questions of a tool to people, with a server of the newer era: forms, choices, pages, rounds, restarts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import BOB, CAROL
from tests.stories.asking_tools import DONE, cafe
from tests.stories.choosing import outcomes, press, pressed, questions, shown, told, whispers
from tests.stories.stage import ALICE, GENERAL, Stage, staged
from tests.stories.test_forgetting import forgotten, traces
from tests.texts import ours

STALE = (
    "That question is closed by now: somebody answered it, or I have let it go."
    " Ask me again if it still matters."
)
NOT_YOURS = "That one isn't yours to answer. Whoever may has been asked."


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path, ours) as stage:
        yield stage


async def test_a_form_is_filled_in_later_after_a_restart(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        ts = await here.called("order", ALICE)
        asked, buttons = (await shown(stage, ALICE, ts))[-1]
        assert asked.startswith("Alice, *cafe.order* of the server *cafe* needs something from you")
        assert "asks: Which cake, and for when?" in asked
        assert buttons == ["Fill in", "Decline"]
        assert outcomes(stage) == ["suspended"]
        view = await here.opened("alice")
        await stage.clock.advance(600)
        await here.restart()
        refused = await here.sent("alice", view, "Lemon", "13", None, "1")
        assert refused["errors"] == {"field-1": "Too large. At most: 12"}
        assert await here.sent("alice", view, "Lemon", "2", None, "1") == {"ok": True, "closed": True}
        await stage.settled()
        assert here.answers() == [
            {"q0": {"action": "accept", "content": {"cake": "Lemon", "pieces": 2, "size": "l"}}}
        ]
        assert (await stage.answers(ALICE, ts))[-1] == DONE
        assert (await shown(stage, ALICE, ts))[-2] == (f"{asked}\n[Alice chose “Fill in”]", [])
        called = [one["state"] for one in here.told() if "called" in one]
        assert called == [None, "state#1"], "the call goes on with the state that the journal kept"
        assert not stage.pending("asked", "input", "turn-began")


async def test_a_choice_of_few_is_a_row_of_buttons(stage: Stage) -> None:
    rows = {"choose": ["Small", "Large"], "sure": ["Yes", "No"], "confirm": ["Confirm"]}
    async with cafe(stage, "modern") as here:
        for (tool, row), label in zip(rows.items(), ("Large", "No", "Decline"), strict=True):
            ts = await here.called(tool, ALICE)
            assert (await shown(stage, ALICE, ts))[-1][1] == [*row, "Decline"]
            await pressed(stage, "alice", label)
        assert [one["q0"] for one in here.answers()] == [
            {"action": "accept", "content": {"size": "l"}},
            {"action": "accept", "content": {"wrapped": False}},
            {"action": "decline"},
        ]


async def test_only_the_asker_or_an_approver_answers(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        await here.called("order", GENERAL)
        [question] = questions(stage)
        assert question.event.to == (ALICE_HERSELF.id, CAROL.id)
        channel, ts = here.question()
        await press(stage, "bob", channel, ts, "Fill in")
        await stage.settled()
        assert whispers(stage)[-1] == (BOB.id, NOT_YOURS)
        view = await here.opened("carol")
        await here.sent("carol", view, "Lemon", "2", None, "1")
        await stage.settled()
        assert here.answers()[0]["q0"]["action"] == "accept"


async def test_a_second_form_finds_the_question_closed(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        await here.called("order", GENERAL)
        first, second = await here.opened("alice"), await here.opened("carol")
        await here.sent("alice", first, "Lemon", "2", None, "1")
        await stage.settled()
        assert await here.sent("carol", second, "Plum", "3", None, "0") == {"ok": True, "closed": True}
        await stage.settled()
        assert whispers(stage)[-1] == (CAROL.id, STALE)
        assert len(here.answers()) == 1


async def test_a_form_that_is_sent_after_a_stop_is_told_so(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        ts = await here.called("order", GENERAL)
        view = await here.opened("alice")
        await stage.say("alice", GENERAL, "stop", ts)
        assert (await shown(stage, GENERAL, ts))[-2][1] == []
        await here.restart()
        await here.sent("alice", view, "Lemon", "2", None, "1")
        await stage.settled()
        assert whispers(stage)[-1] == (ALICE_HERSELF.id, STALE)
        assert here.answers() == []


async def test_several_rounds_go_on_after_a_restart_between_them(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        ts = await here.called("rounds", ALICE)
        await pressed(stage, "alice", "Small")
        await here.restart()
        await pressed(stage, "alice", "Yes")
        assert here.answers() == [{"q0": {"action": "accept", "content": {"wrapped": True}}}]
        assert (await stage.answers(ALICE, ts))[-1] == DONE


async def test_of_several_questions_of_a_round_none_is_asked_after_a_refusal(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        await here.called("both", ALICE)
        await pressed(stage, "alice", "Small")
        await pressed(stage, "alice", "Decline")
        accepted, refused = {"action": "accept", "content": {"size": "s"}}, {"action": "decline"}
        assert here.answers() == [{"q0": accepted, "q1": refused, "q2": refused}]


async def test_a_call_whose_state_was_forgotten_begins_anew_with_a_fresh_approval(stage: Stage) -> None:
    async with cafe(stage, "modern", "forgets", approval="writes", approvers=["asker"]) as here:
        ts = await here.called("choose", ALICE)
        await pressed(stage, "alice", "Approve")
        assert (await shown(stage, ALICE, ts))[-1][1] == ["Small", "Large", "Decline"]
        await here.restart()
        await pressed(stage, "alice", "Small")
        assert "may I call the tool *cafe.choose*" in (await shown(stage, ALICE, ts))[-1][0]
        await pressed(stage, "alice", "Approve")
        await pressed(stage, "alice", "Large")
        assert here.answers() == [{"q0": {"action": "accept", "content": {"size": "l"}}}]
        assert (await stage.answers(ALICE, ts))[-1] == DONE


async def test_a_field_like_a_password_is_declined_and_people_are_told(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        ts = await here.called("login", ALICE)
        said = await stage.answers(ALICE, ts)
        assert said[1].startswith("*cafe.login* asked here for `Your Pass-Word`, which looks like a password")
        assert said[-1] == DONE
        assert here.answers() == [{"q0": {"action": "decline"}}]
        assert not stage.entries("asked")


async def test_a_page_is_shown_to_the_person_who_asked_alone(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        ts = await here.called("pay", GENERAL)
        asked, buttons = (await shown(stage, GENERAL, ts))[-1]
        assert "page: 1.1.1.1" in asked
        assert buttons == ["Open", "Decline"]
        channel, question_ts = here.question()
        await press(stage, "carol", channel, question_ts, "Open")
        await stage.settled()
        assert whispers(stage)[-1] == (CAROL.id, NOT_YOURS)
        view = await here.opened("alice", "Open")
        texts = [block["text"]["text"] for block in view["blocks"] if block["type"] == "section"]
        assert texts == ["1.1.1.1", "Pay for it", "https://1.1.1.1/bill?id=7#now"]
        [button] = view["blocks"][3]["elements"]
        assert button["url"] == texts[-1]
        await here.sent("alice", view)
        await stage.settled()
        assert here.answers() == [{"q0": {"action": "accept"}}]
        said = str([await shown(stage, GENERAL, ts), stage.wire.told("chat.postMessage")])
        assert "bill?id=7" not in said


@pytest.mark.parametrize("tool", ["inside", "nowhere"])
async def test_a_page_that_is_not_public_is_declined(stage: Stage, tool: str) -> None:
    """Nobody knows where the name of the second page leads."""
    async with cafe(stage, "modern") as here:
        ts = await here.called(tool, ALICE)
        assert "to a page that it may not name" in (await stage.answers(ALICE, ts))[1]
        assert here.answers() == [{"q0": {"action": "decline"}}]


async def test_endless_questions_end(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        ts = await here.called("endless", ALICE)
        for _ in range(10):
            await pressed(stage, "alice", "Confirm")
        assert (await stage.answers(ALICE, ts))[-1] == DONE
        assert not stage.pending("asked")


async def test_a_question_that_is_too_large_ends_the_call(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        ts = await here.called("huge", ALICE)
        assert "it asked for too much input" in told(stage)
        assert (await stage.answers(ALICE, ts))[-1] == DONE
        assert max(len(str(entry.event)) for entry in stage.entries("observation")) < 1_000


async def test_a_request_for_a_model_is_no_question_to_people(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        ts = await here.called("sample", ALICE)
        assert "what the soul does not offer, such as sampling" in told(stage)
        assert (await stage.answers(ALICE, ts))[-1] == DONE
        assert not stage.entries("asked")


async def test_a_form_that_nobody_can_fill_in_is_declined(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        ts = await here.called("odd", ALICE)
        assert "what no form here can give" in (await stage.answers(ALICE, ts))[1]
        assert here.answers() == [{"q0": {"action": "decline"}}]


async def test_what_somebody_entered_is_forgotten_with_them(stage: Stage) -> None:
    async with cafe(stage, "modern") as here:
        await here.called("order", ALICE)
        await here.sent("alice", await here.opened("alice"), "Kaiserschmarrn", "2", None, "1")
        await stage.settled()
        assert here.answers()
        journal = stage.home / "journal.db"
        assert traces(stage, "Kaiserschmarrn")
        await forgotten(stage)
        assert [one for one in traces(stage, "Kaiserschmarrn") if one.startswith(journal.name)] == []
