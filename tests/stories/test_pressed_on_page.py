"""Presses of an owner on the page, handled once, as in Slack."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.engine.exceptions import JournalError
from daemon.engine.journal.rows import EntryRow
from daemon.engine.journal.writer import PendingAppend, Result
from daemon.memory import WorkingMemory
from daemon.turn.forms import OPEN_FORM
from daemon.turn.questions import ask
from daemon.turn.turn import Turn
from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import BOB as BOB_HIMSELF
from rehearsal.people import CAROL as CAROL_HERSELF
from tests.attention import PATIENCE, CountedWriter
from tests.soak import SOAK, later
from tests.stories.choosing import answers, choice, outcomes, press, questions, shown, whispers
from tests.stories.mending import unasked
from tests.stories.stage import ALICE, CAROL, GENERAL, ME, Stage, reply
from tests.stories.test_approval import DONE, MAY_I, NEWS, asking, question_ts
from tests.stories.test_asked_by_branch import DEED, branching, filling_in, living
from tests.stories.test_leave import asking as asking_leave
from tests.stories.test_limits import FOUND, at_a_bound


@pytest.fixture
async def stage(dormant: Stage) -> Stage:
    return dormant


async def told(stage: Stage) -> Any:
    async with stage.session.get(f"{stage.soul.url}/console/questions") as answer:
        assert answer.status == 200
        return await answer.json()


async def click(
    stage: Stage, value: str, seq: int = 0, headers: Mapping[str, str] | None = None
) -> tuple[int, str]:
    seq = seq or questions(stage)[0].seq
    address = f"{stage.soul.url}/console/questions/{seq}"
    async with stage.session.post(address, json={"value": value}, headers=headers) as answer:
        return answer.status, (await answer.json()).get("error", "")


async def test_an_approval_on_the_page_does_the_deed_and_settles_the_message_in_slack(stage: Stage) -> None:
    published: list[str] = []
    ts = await asking(stage, published, CAROL_HERSELF.id)
    before = await told(stage)
    assert before["viewer"] == {"id": CAROL_HERSELF.id, "name": "Carol"}
    [asked] = before["open"]
    assert (asked["yours"], asked["why"], asked["labels"]) == (True, "", ["Approve", "Decline"])
    assert asked["link"].endswith(
        f"p{(await question_ts(stage)).replace('.', '')}?thread_ts={ts}&cid={GENERAL}"
    )
    answers(stage, choice("Respond"), reply(DONE))
    assert await click(stage, "approve") == (200, "")
    await stage.settled()
    assert published == [NEWS]
    *_, (settled, buttons), (done, _) = await shown(stage, GENERAL, ts)
    assert settled.startswith(MAY_I)
    assert settled.endswith("[Carol chose “Approve”]")
    assert (buttons, done) == ([], DONE)
    [pressed] = stage.entries("answer")
    assert (pressed.author, pressed.event.name, pressed.event.owner) == (CAROL_HERSELF.id, "Carol", True)
    after = await told(stage)
    assert (after["open"], after["answered"][0]["by"]) == ([], "Carol")
    assert not verify_journal(stage.soul.journal).violations


async def test_an_owner_lets_it_go_on_at_a_limit_on_the_page(stage: Stage) -> None:
    ts = await at_a_bound(stage, ism_max_loops=1)
    assert [one["labels"] for one in (await told(stage))["open"]] == [["Continue", "Stop"]]
    answers(stage, choice("Respond"), reply(FOUND))
    assert await click(stage, "continue") == (200, "")
    await stage.settled()
    assert (await stage.answers(GENERAL, ts))[-1] == FOUND


async def test_leave_to_speak_elsewhere_is_given_on_the_page(stage: Stage) -> None:
    await stage.wake()
    await asking_leave(stage)
    [asked] = (await told(stage))["open"]
    assert f"/archives/{CAROL}/p" in asked["link"], "it stands at the top of her DM"
    assert await click(stage, "approve") == (200, "")
    await stage.settled()
    assert await unasked(stage, "alice", GENERAL) == ["The ferry is late today."]


async def test_what_a_branch_asks_is_one_question_which_is_answered_on_the_page(stage: Stage) -> None:
    deleted: list[str] = []
    await living(stage, branching(deleted), "alice")
    ts = await stage.say("alice", ALICE, "Tidy up, please.")
    assert len(questions(stage)) == 2, "that of the branch, and that of its root"
    [asked] = (await told(stage))["open"]
    assert await click(stage, "yes", asked["seq"]) == (200, "")
    await stage.settled()
    assert deleted == [DEED]
    assert (await stage.answers(ALICE, ts))[-1].startswith("The branch heard yes")


async def test_a_button_that_opens_a_form_is_refused_on_the_page_and_answers_nothing(stage: Stage) -> None:
    async def process(turn: Turn) -> WorkingMemory:
        await ask(turn, "order", filling_in(turn))
        return turn.memory

    await living(stage, process, "alice")
    await stage.say("alice", ALICE, "Order them")
    [asked] = (await told(stage))["open"]
    status, why = await click(stage, OPEN_FORM, asked["seq"])
    assert (status, why) == (409, "This button opens a form: press it where the question stands.")
    assert stage.entries("answer") == []
    assert questions(stage)


class Holding(CountedWriter):
    """Writer that holds presses until several wait."""

    most: ClassVar[int] = 10
    came: ClassVar[int] = 0
    all_there: ClassVar[threading.Event] = threading.Event()

    def submit(self, row: EntryRow, *args: Any, **more: Any) -> asyncio.Future[int]:
        Holding.came += row.kind == "answer"
        if Holding.came == Holding.most:
            Holding.all_there.set()
        return super().submit(row, *args, **more)

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        if any(append.row.kind == "answer" for append in batch):
            Holding.all_there.wait(PATIENCE)
        return super().commit(batch)


async def test_many_presses_on_the_page_at_once_are_one(stage: Stage) -> None:
    published: list[str] = []
    stage.writer = Holding
    await asking(stage, published, CAROL_HERSELF.id)
    answers(stage, choice("Respond"), reply(DONE))
    came = await asyncio.gather(*[click(stage, "approve") for _ in range(Holding.most)])
    await stage.settled()
    assert {status for status, _ in came} == {200}
    assert len(stage.entries("answer")) == 1
    assert (published, whispers(stage)) == ([NEWS], [])


async def test_presses_on_the_page_and_in_slack_at_once_do_it_once(stage: Stage) -> None:
    published: list[str] = []
    await asking(stage, published, CAROL_HERSELF.id)
    answers(stage, choice("Respond"), reply(DONE))
    ts = await question_ts(stage)
    clicks = [asyncio.create_task(click(stage, "approve")) for _ in range(5)]
    await press(stage, "carol", GENERAL, ts, "Approve")
    came = await asyncio.gather(*clicks)
    await stage.settled()
    assert {status for status, _ in came} <= {200, 409}
    assert published == [NEWS]
    assert len(stage.entries("answered")) == 1
    keys = [entry.key.split(":")[1] for entry in stage.entries("answer")]
    assert keys.count("page") <= 1
    assert not verify_journal(stage.soul.journal).violations


async def test_a_press_that_waits_for_its_thread_is_told_and_outlives_a_restart(stage: Stage) -> None:
    published: list[str] = []
    ts = await asking(stage, published, CAROL_HERSELF.id)
    busy = asyncio.Event()
    stage.model.say(reply("I am thinking."), until=busy)
    asked = questions(stage)[0]
    await stage.post("alice", GENERAL, f"{ME} and the weather?", ts)
    await stage.until(lambda: stage.pending("turn-began"))
    assert await click(stage, "approve") == (200, "")
    [shown_now] = (await told(stage))["open"]
    assert shown_now["pressed"] == {"by": "Carol", "value": "approve"}
    assert await click(stage, "approve") == (200, ""), "it is the same press"
    status, why = await click(stage, "decline")
    assert (status, "pressed already" in why) == (409, True)
    await stage.sleep()
    stage.model.say(reply("Fair."))
    answers(stage, choice("Respond"), reply(DONE))
    busy.set()
    await stage.wake()
    await stage.settled()
    assert len(stage.entries("answer")) == 1
    assert [entry.event.value for entry in stage.entries("answered")] == ["approve"]
    assert await click(stage, "approve", asked.seq) == (
        409,
        "This question is closed: somebody answered it, or nobody needs to any more.",
    )


class Filling(CountedWriter):
    """Writer with a disk that is full for a while."""

    full: ClassVar[bool] = False

    def commit(self, batch: Sequence[PendingAppend]) -> list[Result]:
        if Filling.full:
            return [JournalError("database or disk is full") for _ in batch]
        return super().commit(batch)


async def test_a_press_that_the_journal_could_not_take_is_refused_and_may_come_again(stage: Stage) -> None:
    published: list[str] = []
    stage.writer = Filling
    await asking(stage, published, CAROL_HERSELF.id)
    Filling.full = True
    try:
        status, why = await click(stage, "approve")
    finally:
        Filling.full = False
    assert (status, bool(why), stage.entries("answer")) == (503, True, [])
    answers(stage, choice("Respond"), reply(DONE))
    assert await click(stage, "approve") == (200, "")
    await stage.settled()
    assert published == [NEWS]


@pytest.mark.parametrize(
    ("owners", "why"),
    [
        ((CAROL_HERSELF.id, BOB_HIMSELF.id), "since OWNER_USER_IDS names 2"),
        later((BOB_HIMSELF.id, ALICE_HERSELF.id, CAROL_HERSELF.id), "since OWNER_USER_IDS names 3"),
    ],
    ids=["two", "three"],
)
async def test_where_several_own_it_the_page_cannot_tell_who_looks(
    stage: Stage, owners: tuple[str, ...], why: str
) -> None:
    published: list[str] = []
    await asking(stage, published, *owners)
    page = await told(stage)
    [asked] = page["open"]
    assert (page["viewer"], asked["yours"], why in asked["why"]) == (None, False, True)
    assert asked["link"]
    assert await click(stage, "approve") == (403, asked["why"])
    assert (stage.entries("answer"), published) == ([], [])


@pytest.mark.parametrize(
    ("owners", "why"),
    [
        (frozenset({CAROL_HERSELF.id}), "Only Bob may answer this."),
        (frozenset[str](), "OWNER_USER_IDS names no owner"),
    ],
    ids=["an owner", "nobody"],
)
async def test_what_somebody_else_is_asked_is_not_for_whoever_looks(
    stage: Stage, owners: frozenset[str], why: str
) -> None:
    await stage.wake(owner_user_ids=owners)
    await stage.say("bob", GENERAL, f"{ME} hello")
    await stage.say("bob", GENERAL, f"{ME} !forget me")
    [asked] = (await told(stage))["open"]
    assert (asked["yours"], why in asked["why"]) == (False, True)
    assert asked["to"]["names"] == [{"id": BOB_HIMSELF.id, "name": "Bob"}]
    as_in_slack = ["Forget it", "Forget it, and delete your answers here", "Keep it"]
    assert asked["labels"] == as_in_slack
    status, refused = await click(stage, "forget")
    assert (status, refused) == (403, asked["why"])
    assert len(questions(stage)) == 1


async def test_who_owns_it_no_more_cannot_press_though_they_were_asked(stage: Stage) -> None:
    published: list[str] = []
    await asking(stage, published, CAROL_HERSELF.id)
    await stage.sleep()
    await stage.wake(owner_user_ids=frozenset({BOB_HIMSELF.id}))
    assert await click(stage, "approve") == (403, "Only Carol may answer this.")
    assert published == []


async def test_only_the_page_itself_may_press(stage: Stage) -> None:
    published: list[str] = []
    await asking(stage, published, CAROL_HERSELF.id)
    assert (await click(stage, "approve", headers={"X-Console-Token": "wrong"}))[0] in (401, 429)
    assert (await click(stage, "approve", headers={"Origin": "https://elsewhere.example"}))[0] == 403
    address = f"{stage.soul.url}/console/questions/{questions(stage)[0].seq}"
    for body in ("[]", "{}", '{"value": 7}', "approve", '{"value": "' + "a" * 9_000 + '"}'):
        async with stage.session.post(address, data=body) as answer:
            assert answer.status == 400, body[:20]
    assert (await click(stage, "yes, do"))[0] == 400
    assert (await click(stage, "approve", 1))[0] == 404
    assert (await click(stage, "approve", 10**14))[0] == 404
    assert stage.entries("answer") == []


@SOAK
async def test_a_decline_on_the_page_leaves_the_deed(stage: Stage) -> None:
    published: list[str] = []
    await asking(stage, published, CAROL_HERSELF.id)
    answers(stage, choice("Respond"), reply("I have left it."))
    assert await click(stage, "decline") == (200, "")
    await stage.settled()
    assert (published, whispers(stage), outcomes(stage)[-1]) == ([], [], "completed")
