"""Questions that a server of the older era asks during an open call: answered at once, or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.tools.elicitation import MARGIN
from rehearsal.people import BOB
from tests.stories.asking_tools import DONE, Cafe, cafe
from tests.stories.choosing import press, questions, shown, whispers
from tests.stories.stage import ALICE, GENERAL, ME, Stage, staged
from tests.stories.tool_shelf import ERRAND
from tests.texts import ours

STALE = (
    "That question is closed by now: somebody answered it, or I have let it go."
    " Ask me again if it still matters."
)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path, ours) as stage:
        yield stage


async def asked(here: Cafe, tool: str, channel: str = ALICE) -> str:
    """Call a tool until it asks; return the ts of the conversation."""
    here.chooses(tool)
    mention = f"{ME} " if channel == GENERAL else ""
    ts = await here.stage.post("alice", channel, f"{mention}{ERRAND}")
    await here.stage.until(lambda: questions(here.stage))
    return ts


async def pressed(here: Cafe, name: str, label: str) -> None:
    channel, ts = here.question()
    await press(here.stage, name, channel, ts, label)


async def test_a_form_is_filled_in_while_the_call_is_open(stage: Stage) -> None:
    async with cafe(stage, "legacy") as here:
        ts = await asked(here, "order")
        view = await here.opened("alice")
        assert await here.sent("alice", view, "Lemon", "2", None, "1") == {"ok": True, "closed": True}
        await stage.settled()
        assert here.answers() == [
            {"action": "accept", "content": {"cake": "Lemon", "pieces": 2, "size": "l"}}
        ]
        assert len([one for one in here.told() if "called" in one]) == 1
        assert (await stage.answers(ALICE, ts))[-1] == DONE
        assert (await shown(stage, ALICE, ts))[-2][1] == []
        assert whispers(stage) == [], "the form was taken"
        assert not stage.pending("asked", "input", "turn-began")


async def test_a_press_answers_and_one_by_a_stranger_does_not(stage: Stage) -> None:
    async with cafe(stage, "legacy") as here:
        await asked(here, "choose", GENERAL)
        await pressed(here, "bob", "Small")
        await pressed(here, "alice", "Large")
        await stage.settled()
        assert here.answers() == [{"action": "accept", "content": {"size": "l"}}]
        assert whispers(stage)[-1] == (BOB.id, STALE), "as the call was open, he is told afterwards"


async def test_nobody_answers_in_time_so_it_is_declined(stage: Stage) -> None:
    async with cafe(stage, "legacy", timeout="40s") as here:
        ts = await asked(here, "choose")
        await stage.clock.advance(40.0 - MARGIN)
        await stage.settled()
        assert here.answers() == [{"action": "cancel"}]
        assert (await shown(stage, ALICE, ts))[-2][1] == [], "the buttons are gone"
        assert (await stage.answers(ALICE, ts))[-1] == DONE
        assert not stage.pending("asked", "input", "turn-began")


async def test_a_restart_during_the_open_call_leaves_no_question_open(stage: Stage) -> None:
    async with cafe(stage, "legacy") as here:
        ts = await asked(here, "choose")
        await here.restart()
        await stage.settled()
        assert here.answers() in ([], [{"action": "cancel"}])
        assert not stage.pending("asked", "input", "turn-began")
        assert [buttons for _, buttons in await shown(stage, ALICE, ts)] == [[]] * 5
        said = await stage.answers(ALICE, ts)
        assert "nobody knows whether it was done" in said[2]


async def test_a_kill_during_the_open_call_leaves_no_question_open(stage: Stage) -> None:
    async with cafe(stage, "legacy") as here:
        ts = await asked(here, "choose")
        kept = {path: path.read_bytes() for path in stage.home.glob("journal.db*")}
        await stage.sleep()
        for path in stage.home.glob("journal.db*"):
            path.unlink()
        for path, content in kept.items():
            path.write_bytes(content)
        await here.open()
        await stage.settled()
        assert not stage.pending("asked", "input", "turn-began")
        assert not stage.entries("restarted", "attempt-failed")
        assert "nobody knows whether it was done" in str(await stage.answers(ALICE, ts))


async def test_a_page_that_is_to_be_opened_first_is_asked_for_and_the_call_made_again(stage: Stage) -> None:
    async with cafe(stage, "legacy") as here:
        ts = await here.called("bill", ALICE)
        assert "page: 1.1.1.1" in (await shown(stage, ALICE, ts))[-1][0]
        await here.sent("alice", await here.opened("alice", "Open"))
        await stage.settled()
        assert here.answers() == ["paid"]
        assert (await stage.answers(ALICE, ts))[-1] == DONE


async def test_a_call_that_ends_without_its_answer_takes_its_question_along(stage: Stage) -> None:
    async with cafe(stage, "legacy", timeout="600s") as here:
        ts = await here.called("hurry", ALICE)
        assert here.answers() == ["unasked"]
        assert not stage.pending("asked", "input", "turn-began")
        assert all(not buttons for _, buttons in await shown(stage, ALICE, ts))
        assert not stage.entries("attempt-failed", "restarted")


async def test_a_stop_ends_the_question_and_the_call(stage: Stage) -> None:
    async with cafe(stage, "legacy") as here:
        ts = await asked(here, "choose")
        await stage.say("alice", ALICE, "stop", ts)
        assert not stage.pending("asked", "input", "turn-began")
        assert all(not buttons for _, buttons in await shown(stage, ALICE, ts))
        assert "Stopped." in await stage.answers(ALICE, ts)


async def test_a_password_is_declined_and_people_are_told(stage: Stage) -> None:
    async with cafe(stage, "legacy") as here:
        ts = await here.called("login", ALICE)
        assert here.answers() == [{"action": "decline"}]
        assert "which looks like a password" in (await stage.answers(ALICE, ts))[1]
