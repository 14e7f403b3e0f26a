"""Questions of a branch, asked in its root's conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from daemon.app.discovery import PROCESSES
from daemon.app.journal_commands import verify_journal
from daemon.engine.retries import MAX_FAILURES_AT_ONE_KEY
from daemon.kinds import IncomingMessage
from daemon.memory import Memory, WorkingMemory, working_memory
from daemon.ports import Button
from daemon.process import Question, Transition
from daemon.turn.forms import OPEN_FORM, FormField, QuestionForm, form_as_json
from daemon.turn.model_calls import call_interruptibly
from daemon.turn.questions import ask
from daemon.turn.speech import say
from daemon.turn.turn import Process, Turn
from tests.soak import SOAK
from tests.stories.choosing import IDS, press, questions, shown, whispers
from tests.stories.outage import later
from tests.stories.stage import ALICE, GENERAL, ME, Stage, staged

YES = Button(label="Yes", value="yes")
NO = Button(label="No", value="no")
MAY_I = "May I delete it?"
DEED = "the old timetable"


@pytest.fixture
async def trying(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        await stage.wake()
        yield stage
        assert verify_journal(stage.soul.journal).violations == []
        assert stage.unsent() == []


@pytest.fixture
async def stage(trying: Stage) -> AsyncIterator[Stage]:
    yield trying
    assert not trying.entries("attempt-failed", "unbegun")


Whom = Callable[[Turn], Sequence[str]]


Meanwhile = Callable[[Turn], Awaitable[object]]


async def nothing(_turn: Turn) -> None: ...


async def wonder(turn: Turn) -> None:
    await call_interruptibly(
        turn, "wonder", working_memory([Memory(role="user", content="Is it a good day?")]), "fast"
    )


def branching(
    deleted: list[str],
    whom: Whom = lambda turn: turn.deciders,
    asks: str = MAY_I,
    meanwhile: Meanwhile = nothing,
) -> Process:
    async def delete() -> str:
        deleted.append(DEED)
        return "it is gone"

    async def branch(turn: Turn) -> WorkingMemory:
        people = whom(turn)
        answer = await ask(turn, "may", Question(text=asks, to=people, owners=people, choices=(YES, NO)))
        if answer.value == "yes":
            await turn.effect("delete", {}, delete, repeatable=False)
        await turn.ctx.end_thread(f"{answer.value or 'nothing'}, said {answer.by or 'nobody'}")
        return turn.memory

    async def process(turn: Turn) -> WorkingMemory:
        if not turn.addressed:
            return await branch(turn)
        errand = IncomingMessage(user="", name="itself", text="delete it", ts="1.0", address="", bot=True)
        child = await turn.ctx.spawn("errand", errand)
        await meanwhile(turn)
        [came] = await turn.ctx.join([child])
        await say(turn, f"The branch heard {came.result}.")
        return turn.memory

    return process


def echoing(first: Process) -> Process:
    async def process(turn: Turn) -> WorkingMemory | Transition:
        if any("hello" in entry.event.text for entry in turn.answers):
            await say(turn, "Hello yourself.")
            return turn.memory
        return await first(turn)

    return process


async def living(stage: Stage, process: Process, *owners: str, **others: Process) -> None:
    await stage.sleep()
    stage.processes = {**PROCESSES, "conversation": process, **others}
    await stage.wake(owner_user_ids=frozenset(IDS[name] for name in owners))


async def again(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake()


def at_rest(stage: Stage) -> bool:
    return not stage.pending("input", "turn-began", "action", "speech", "asked", "thread-spawned", "waiting")


async def presses(stage: Stage, name: str, channel: str, label: str) -> None:
    [asked] = [question for question in questions(stage) if question.event.said]
    *_, spoken = stage.soul.journal.entries_at(asked.event.said)
    before = len(stage.entries("answer"))
    await press(stage, name, channel, spoken.event.ts, label)
    await stage.until(lambda: len(stage.entries("answer")) > before)
    await stage.settled()


@pytest.mark.parametrize(("label", "does"), [("Yes", [DEED]), pytest.param("No", [], marks=SOAK)])
async def test_in_a_dm_it_is_asked_of_the_owner_whose_it_is(
    stage: Stage, label: str, does: Sequence[str]
) -> None:
    deleted: list[str] = []
    await living(stage, branching(deleted), "alice", "carol")
    ts = await stage.say("alice", ALICE, "Tidy up, please.")
    assert (await shown(stage, ALICE, ts))[1:] == [(MAY_I, ["Yes", "No"])]
    theirs, ours = questions(stage)
    assert ours.thread == theirs.thread.partition(".")[0] != theirs.thread
    assert list(ours.event.to) == list(ours.event.owners) == [IDS["alice"]]
    await again(stage)
    assert deleted == []
    await presses(stage, "alice", ALICE, label)
    assert deleted == does
    told = [text for text, _ in (await shown(stage, ALICE, ts))[1:]]
    heard = f"The branch heard {label.lower()}, said {IDS['alice']}."
    assert told == [f"{MAY_I}\n[Alice chose “{label}”]", heard]
    assert len(stage.entries("wish")) == 1
    assert at_rest(stage)


async def test_in_a_channel_it_is_asked_of_the_owners_and_nobody_else_answers(stage: Stage) -> None:
    deleted: list[str] = []
    await living(stage, branching(deleted), "carol")
    ts = await stage.say("alice", GENERAL, f"{ME} tidy up, please.")
    await presses(stage, "bob", GENERAL, "Yes")
    await presses(stage, "alice", GENERAL, "Yes")
    assert [person for person, _ in whispers(stage)] == [IDS["bob"], IDS["alice"]], "it is not theirs"
    assert deleted == []
    await presses(stage, "carol", GENERAL, "Yes")
    assert deleted == [DEED]
    assert (await stage.answers(GENERAL, ts))[-1] == f"The branch heard yes, said {IDS['carol']}."
    assert at_rest(stage)


async def test_the_yes_of_an_owner_who_is_none_any_more_does_not_reach_the_branch(stage: Stage) -> None:
    deleted: list[str] = []
    await living(stage, branching(deleted), "carol")
    await stage.say("alice", GENERAL, f"{ME} tidy up, please.")
    await living(stage, branching(deleted), "bob")
    await presses(stage, "carol", GENERAL, "Yes")
    assert (deleted, len(questions(stage))) == ([], 2), "it still waits"
    assert [person for person, _ in whispers(stage)] == [IDS["carol"]]


async def test_in_a_dm_that_no_owner_reads_nobody_is_asked(stage: Stage) -> None:
    deleted: list[str] = []
    await living(stage, branching(deleted, whom=lambda _: [IDS["carol"]]), "carol")
    ts = await stage.say("alice", ALICE, "Tidy up, please.")
    assert await stage.answers(ALICE, ts) == ["The branch heard nothing, said nobody."]
    assert deleted == []
    assert at_rest(stage)


@SOAK
async def test_who_speaks_meanwhile_is_answered_and_the_branch_waits(stage: Stage) -> None:
    deleted: list[str] = []
    await living(stage, branching(deleted), "alice")
    ts = await stage.say("alice", ALICE, "Tidy up, please.")
    await living(stage, echoing(branching(deleted)), "alice")
    await stage.say("alice", ALICE, "And hello!", ts)
    assert (await stage.answers(ALICE, ts))[-1] == "Hello yourself."
    await presses(stage, "alice", ALICE, "Yes")
    assert deleted == [DEED]
    assert (await stage.answers(ALICE, ts))[-1] == f"The branch heard yes, said {IDS['alice']}."
    assert at_rest(stage)


async def test_what_the_branch_asks_after_an_edit_is_another_question(stage: Stage) -> None:
    deleted: list[str] = []
    await living(stage, branching(deleted), "alice")
    ts = await stage.say("alice", ALICE, "Tidy up, please.")
    await living(stage, branching(deleted, asks="May I burn it?"), "alice")
    await presses(stage, "alice", ALICE, "Yes")
    assert deleted == [], "the yes was for something else"
    assert (await shown(stage, ALICE, ts))[-1] == ("May I burn it?", ["Yes", "No"])
    await presses(stage, "alice", ALICE, "Yes")
    assert deleted == [DEED]
    assert len(stage.entries("restarted")) == 1
    assert at_rest(stage)


async def test_what_it_asks_while_the_root_cannot_think_is_asked_after_that(stage: Stage) -> None:
    deleted: list[str] = []
    await living(stage, branching(deleted, meanwhile=wonder), "alice")
    stage.model.fail(401, "authentication_error")
    stage.model.say("It is.")
    ts = await stage.post("alice", ALICE, "Tidy up, please.")
    await stage.passing(1.0, lambda: questions(stage))
    await later(stage)
    assert (await shown(stage, ALICE, ts))[-1] == (MAY_I, ["Yes", "No"])
    await presses(stage, "alice", ALICE, "Yes")
    assert deleted == [DEED]
    assert at_rest(stage)


def refused(stage: Stage, word: str) -> Meanwhile:
    async def refuse(_turn: Turn) -> None:
        if not stage.entries("attempt-failed"):
            stage.wire.refuse["chat.postMessage"] = [word]

    return refuse


def heard(stage: Stage) -> list[str]:
    return [entry.event.result for entry in stage.entries("thread-ended")]


def goes_without(stage: Stage, deleted: list[str]) -> bool:
    assert [entry.event.by for entry in stage.entries("relayed")] == [""]
    return deleted == [] and heard(stage) == ["nothing, said nobody"] and at_rest(stage)


async def test_a_stop_in_the_root_ends_the_branch_that_waits_for_an_answer(stage: Stage) -> None:
    deleted: list[str] = []
    await living(stage, branching(deleted), "alice")
    ts = await stage.say("alice", ALICE, "Tidy up, please.")
    await again(stage)
    await stage.say("alice", ALICE, "stop", ts)
    assert (await shown(stage, ALICE, ts))[1:] == [(MAY_I, []), ("stop", []), ("Stopped.", [])]
    assert [entry.event.by for entry in stage.entries("relayed")] == [""]
    assert [entry.event.status for entry in stage.entries("thread-ended")] == ["cancelled"]
    assert deleted == []
    assert at_rest(stage)


async def test_where_slack_does_not_take_the_question_the_branch_is_told(trying: Stage) -> None:
    deleted: list[str] = []
    await living(trying, branching(deleted, meanwhile=refused(trying, "is_archived")), "alice")
    ts = await trying.say("alice", ALICE, "Tidy up, please.")
    assert [entry.event.error for entry in trying.entries("attempt-failed")] == ["SpeechRefused"]
    assert await trying.answers(ALICE, ts) == ["The branch heard nothing, said nobody."]
    assert goes_without(trying, deleted)


async def test_what_asks_for_it_is_given_up_and_the_branch_is_told(trying: Stage) -> None:
    async def broken(_turn: Turn) -> WorkingMemory:
        raise LookupError("who is to be asked?")

    deleted: list[str] = []
    await living(trying, branching(deleted), "alice", relaying=broken)
    ts = await trying.post("alice", ALICE, "Tidy up, please.")
    await trying.passing(61, lambda: trying.entries("thread-ended"))
    await trying.settled()
    assert len(trying.entries("attempt-failed")) == MAX_FAILURES_AT_ONE_KEY
    assert (await trying.answers(ALICE, ts))[-1] == "The branch heard nothing, said nobody."
    assert goes_without(trying, deleted)


async def test_a_stop_ends_what_fails_to_ask_and_the_branch(trying: Stage) -> None:
    deleted: list[str] = []
    await living(trying, branching(deleted, meanwhile=refused(trying, "internal_error")), "alice")
    ts = await trying.post("alice", ALICE, "Tidy up, please.")
    await trying.until(lambda: trying.entries("attempt-failed"))
    await trying.say("alice", ALICE, "stop", ts)
    assert "stopped" in [entry.event.outcome for entry in trying.entries("turn-ended")]
    assert [entry.event.status for entry in trying.entries("thread-ended")] == ["cancelled"]
    assert deleted == []
    assert at_rest(trying)


async def test_what_the_branch_was_told_stands_when_the_root_fails_after_that(trying: Stage) -> None:
    async def failing(turn: Turn) -> WorkingMemory:
        await PROCESSES["relaying"](turn)
        raise LookupError("and what now?")

    deleted: list[str] = []
    await living(trying, branching(deleted), "alice", relaying=failing)
    ts = await trying.say("alice", ALICE, "Tidy up, please.")
    [question] = [question for question in questions(trying) if question.event.said]
    *_, spoken = trying.soul.journal.entries_at(question.event.said)
    await press(trying, "alice", ALICE, spoken.event.ts, "Yes")
    await trying.until(lambda: trying.entries("attempt-failed"))
    await trying.passing(61, lambda: at_rest(trying))
    assert len(trying.entries("attempt-failed")) == MAX_FAILURES_AT_ONE_KEY
    assert [entry.event.value for entry in trying.entries("relayed")] == ["yes"]
    assert deleted == [DEED]
    assert f"The branch heard yes, said {IDS['alice']}." in await trying.answers(ALICE, ts)


def filling_in(turn: Turn) -> Question:
    form = QuestionForm(title="Order", fields=(FormField(name="pieces", label="Pieces", kind="number"),))
    fill = Button(label="Fill in", value=OPEN_FORM)
    return Question(text=MAY_I, to=turn.deciders, choices=(fill, NO), about=form_as_json(form))


async def test_a_form_of_a_branch_is_filled_in_where_its_root_asks(stage: Stage) -> None:
    async def process(turn: Turn) -> WorkingMemory:
        if not turn.addressed:
            answer = await ask(turn, "order", filling_in(turn))
            await turn.ctx.end_thread(f"{dict(answer.fields)}")
            return turn.memory
        errand = IncomingMessage(user="", name="itself", text="order it", ts="1.0", address="", bot=True)
        [came] = await turn.ctx.join([await turn.ctx.spawn("errand", errand)])
        await say(turn, str(came.result))
        return turn.memory

    await living(stage, process, "alice")
    ts = await stage.say("alice", ALICE, "Order them")
    [asked] = [question for question in questions(stage) if question.event.said]
    *_, spoken = stage.soul.journal.entries_at(asked.event.said)
    await press(stage, "alice", ALICE, spoken.event.ts, "Fill in")
    await stage.until(lambda: stage.world.workspace.views.shown)
    sent = {
        "user": IDS["alice"],
        "view": stage.world.workspace.views.shown[-1].id,
        "values": {"field-0": "2.5"},
    }
    async with stage.session.post(f"{stage.url}/rehearsal/submit", json=sent) as response:
        assert await response.json() == {"ok": True, "closed": True}
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "{'pieces': 2.5}"
