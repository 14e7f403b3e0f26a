"""Open thought over the wire: self-calls, plans, branches."""

from __future__ import annotations

import asyncio

import pytest

from daemon.settings.limits import Limits
from daemon.slack.status import MOMENT
from tests.soak import SOAK, later
from tests.stories.choosing import press, pressed
from tests.stories.stage import ALICE, BOB, Stage

OVER = "<aside>This deserves some thought.</aside><next>deliberation</next><say></say><mood>calm</mood>"
OPEN = "in the open"
"""Text in requests of open thought."""
ALONE = "Give your final answer now, as"


def thinks(stage: Stage, *answers: str) -> None:
    stage.model.say(OVER)
    goes_on(stage, *answers)


def goes_on(stage: Stage, *answers: str) -> None:
    for answer in answers:
        stage.model.say(answer, asks=OPEN)


def sentence(stage: Stage, name: str) -> str:
    return (stage.words / "prompts" / "sentences" / f"{name}.md").read_text().strip()


def final(text: str) -> str:
    return f"<claudius-response>{text}</claudius-response>"


def calls_itself(text: str) -> str:
    return f"<claudius>{text}</claudius>"


def spawns(label: str, payload: str = "") -> str:
    inside = f"<initial-payload>{payload or label}</initial-payload>"
    return f'<spawn-thread suggested_sub_id="{label}">{inside}</spawn-thread>'


def prompts(stage: Stage, holds: str = OPEN) -> list[str]:
    found = []
    for body in stage.model.requests:
        texts = [block["text"] for message in body["messages"] for block in message["content"]]
        if holds in texts[-1]:
            found.append("\n".join(texts[:-1]))
    return found


def told(stage: Stage) -> list[str]:
    kinds = stage.entries("system-message", "inner-message")
    return [entry.event.text for entry in kinds if not getattr(entry.event, "sender", "")]


async def test_it_calls_itself_until_it_has_an_answer(stage: Stage) -> None:
    thinks(
        stage,
        f"One.{calls_itself('First the outline.')}",
        f"Two.{calls_itself('Then the details.')}",
        f"<thought>That is it.</thought>{final('It is 42.')}",
    )
    ts = await stage.say("alice", ALICE, "What is six times seven? Think it through.")
    assert await stage.answers(ALICE, ts) == ["It is 42."]
    calls = prompts(stage)
    assert len(calls) == 3
    assert [calls[2].count(thought) for thought in ("First the outline.", "Then the details.")] == [1, 1]
    assert calls[1].startswith(calls[0])
    assert calls[2].startswith(calls[1]), "the prompt of a thread only grows"
    assert [entry.event.text for entry in stage.entries("self-call")] == [
        "First the outline.",
        "Then the details.",
    ]
    assert stage.entries("turn-ended")[-1].event.process == "conversation"


async def test_a_person_who_speaks_between_two_thoughts_is_heard_by_the_next(stage: Stage) -> None:
    thinks(stage, calls_itself("On."))
    later = asyncio.Event()
    stage.model.say(calls_itself("Further."), asks=OPEN, until=later)
    goes_on(stage, final("Both, then."))
    ts = await stage.post("alice", ALICE, "Tea or coffee?")
    await stage.until(lambda: len(prompts(stage)) == 2)
    await stage.post("alice", ALICE, "I mean for tomorrow.", ts)
    later.set()
    await stage.settled()
    assert "for tomorrow" not in prompts(stage)[1]
    assert "for tomorrow" in prompts(stage)[2]
    assert await stage.answers(ALICE, ts) == ["Both, then."]


async def test_a_branch_is_told_that_it_is_one_and_who_reads_its_answer(stage: Stage) -> None:
    thinks(stage, spawns("north"))
    goes_on(stage, final("Cold."), final("North is cold."))
    ts = await stage.say("alice", ALICE, "What is it like there?")
    assert await stage.answers(ALICE, ts) == ["North is cold."]
    root = stage.entries("thread-spawned")[0].thread
    told = [f"You are a branch: the thread `{root}` began you" in asked for asked in stage.asked()]
    assert told == [False, False, True, False]


async def test_branches_think_beside_each_other_and_answer_their_parent(stage: Stage) -> None:
    thinks(stage, spawns("north") + spawns("south"))
    goes_on(stage, final("Polaris."))
    south = asyncio.Event()
    stage.model.say(final("Sigma Octantis."), asks=OPEN, until=south)
    goes_on(stage, "Let me wait for the other.", final("Polaris, and Sigma Octantis."))
    ts = await stage.post("alice", ALICE, "Which are the pole stars?")
    await stage.until(lambda: len(stage.entries("turn-ended")) == 3)
    await stage.passing(MOMENT, stage.world.workspace.statuses.all)  # branches at work show a status
    south.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["Polaris, and Sigma Octantis."]
    await stage.until(lambda: not stage.world.workspace.statuses.all())
    root = stage.entries("thread")[0].thread
    spawned = {entry.event.thread: entry.seq for entry in stage.entries("thread-spawned")}
    assert [*spawned] == [f"{root}.north", f"{root}.south"]
    for branch, seq in spawned.items():
        assert min(entry.seq for entry in stage.entries() if entry.thread == branch) > seq
    calls = prompts(stage)
    assert all("pole stars" not in call for call in calls[1:3]), "a branch sees nothing of its parent's"
    assert f'<thread-spawned assigned_id="{root}.north" parent_id="{root}"/>' in calls[-1]
    assert f'<message from="{root}.south">\nSigma Octantis.\n</message>' in calls[-1]
    assert "empty" not in "".join(told(stage)), "while something is to come it may wait"


@SOAK
async def test_labels_are_made_fit_and_never_taken_twice(stage: Stage) -> None:
    thinks(stage, spawns("Re: sé/arch.x") + spawns("research") + spawns("research"))
    goes_on(stage, *[final(str(n)) for n in range(3)])
    goes_on(stage, *["Wait."] * 2, final("Done."))
    await stage.say("alice", ALICE, "Look it up.")
    root = stage.entries("thread")[0].thread
    names = [entry.event.thread for entry in stage.entries("thread-spawned")]
    assert names == [f"{root}.re-s-arch-x", f"{root}.research", f"{root}.research-1"]


async def test_a_thread_that_is_not_there_is_answered_like_a_foreign_one(stage: Stage) -> None:
    stage.model.say("<aside>x</aside><say>Hi.</say><mood>calm</mood>")
    await stage.say("bob", BOB, "Hello")
    foreign = stage.entries("thread")[0].thread
    thinks(
        stage,
        '<send to="bad">Hello?</send>',
        f'<send to="{foreign}">Hello?</send>',
        f'<claudius convo_id="{foreign}">There?</claudius>',
        final("Nobody is there."),
    )
    ts = await stage.say("alice", ALICE, "Is anybody there?")
    assert await stage.answers(ALICE, ts) == ["Nobody is there."]
    errors = [text for text in told(stage) if "unknown_thread" in text]
    assert errors[0] == (
        '<system-thread-error unknown_id="bad" code="unknown_thread"'
        ' message="Unknown thread; emit &lt;spawn-thread/&gt; to create."/>'
    )
    assert [error.replace(foreign, "bad") for error in errors[1:]] == errors[:1] * 2


async def test_a_final_answer_stops_the_branches_and_says_so(stage: Stage) -> None:
    thinks(stage, spawns("slow"))
    slow = asyncio.Event()
    stage.model.say(final("Too late."), asks=OPEN, until=slow)
    ts = await stage.post("alice", ALICE, "What is it?")
    await stage.until(lambda: len(prompts(stage)) == 2)
    goes_on(stage, final("It is 42."))
    await stage.post("alice", ALICE, "What is your guess?", ts)
    await stage.until(lambda: stage.entries("thread-ended"))
    slow.set()
    await stage.settled()
    root = stage.entries("thread")[0].thread
    assert await stage.answers(ALICE, ts) == ["It is 42."]
    assert f'<thread-cancelled id="{root}.slow"/>' in told(stage)
    assert [entry.event.status for entry in stage.entries("thread-ended")] == ["cancelled"]
    assert [entry for entry in stage.entries("inner-message") if entry.thread == root] == []


async def test_a_fan_out_is_collected_in_order_with_what_is_missing(stage: Stage) -> None:
    items = "".join(f"<item>Count {what}.</item>" for what in ("apples", "pears", "plums"))
    thinks(stage, f'<fan-out collect="true">{items}</fan-out>')
    goes_on(stage, final("Three apples."), "Hm.", final("Five plums."), "Hm.")
    stage.model.say("<thought>I cannot.</thought>", asks=ALONE)
    goes_on(stage, final("Eight, without the pears."))
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert await stage.answers(ALICE, ts) == ["Eight, without the pears."]
    [collected] = [text for text in told(stage) if text.startswith("<fan-out-complete")]
    assert collected == (
        '<fan-out-complete total="3" successful="2">\n'
        '<result index="1">Three apples.</result>\n'
        '<missing index="2" reason="failed"/>\n'
        '<result index="3">Five plums.</result>\n'
        "</fan-out-complete>"
    )
    assert '<fan-out-started total="3" collect="true"/>' in told(stage)


async def test_a_plan_with_open_steps_is_nudged_once(stage: Stage) -> None:
    plan = (
        '<todo-until condition="all counted"><step done="true">apples</step><step>pears</step></todo-until>'
    )
    thinks(stage, f"{plan}{calls_itself('On.')}", final("Three."))
    goes_on(stage, plan + final("Three; I left out the pears."))
    ts = await stage.say("alice", ALICE, "How many fruits?")
    assert (await stage.answers(ALICE, ts))[1:] == ["Three; I left out the pears."]
    nudges = [text for text in told(stage) if 'code="steps-open"' in text]
    assert len(nudges) == 1
    assert "- pears" in nudges[0]
    assert [entry.event.line() for entry in stage.entries("plan")] == ["1/2: all counted"] * 2


async def test_an_answer_after_which_nothing_can_come_is_told_so_once(stage: Stage) -> None:
    thinks(stage, "Hm.", "Hm, hm.")
    stage.model.say("<thought>I do not know.</thought>", asks=ALONE)
    ts = await stage.say("alice", ALICE, "What is it?")
    assert await stage.answers(ALICE, ts) == [sentence(stage, "lost_words")]
    assert [text.split('"')[1] for text in told(stage)] == ["empty", "alone"]
    thinks(stage, "Hm.", "Hm, hm.")
    stage.model.say("It is forty-two.", asks=ALONE)
    ts = await stage.say("alice", ALICE, "And now?")
    assert await stage.answers(ALICE, ts) == ["It is forty-two."]


async def test_at_the_cap_it_gives_what_it_has_and_an_owner_may_let_it_go_on(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(iteration_capacity="low", owner_user_ids=frozenset({"U0ALICE0001"}))
    thinks(stage, *[calls_itself(f"Thought {n}.") for n in range(4)])
    stage.model.say(final("So far: three of five."), asks=ALONE)
    ts = await stage.say("alice", ALICE, "Count to five.")
    assert len(stage.entries("self-call")) == 3
    assert (await stage.answers(ALICE, ts))[0] == "So far: three of five."
    [asked] = stage.pending("asked")
    assert asked.event.about["bound"] == "iterations"
    goes_on(stage, calls_itself("Thought 5."), final("Five."))
    await pressed(stage, "alice", "Continue")
    assert (await stage.answers(ALICE, ts))[-1] == "Five."
    assert prompts(stage)[-1].count("So far: three of five.") == 1


async def test_where_iteration_is_not_allowed_it_takes_one_step(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(iteration_capacity="none")
    thinks(stage, calls_itself("First, let me see."))
    stage.model.say(final("Forty-two."), asks=ALONE)
    ts = await stage.say("alice", ALICE, "Think it through, please.")
    assert await stage.answers(ALICE, ts) == ["Forty-two."]
    assert not stage.entries("self-call")
    [nudge] = told(stage)
    assert "Iteration is not allowed here; answer now." in nudge


async def test_a_timer_calls_it_again_once(stage: Stage) -> None:
    thinks(
        stage,
        '<set-timer in="90s" label="tea"/>' + final("I will tell you."),
    )
    ts = await stage.say("alice", ALICE, "Tell me when the tea is ready.")
    set_ = [text for text in told(stage) if text.startswith("<timer-set")]
    assert set_ == [], "beside a final answer nothing is carried out"
    thinks(stage, '<set-timer in="90s" label="tea"/><set-timer in="60s" label="eggs"/>')
    await stage.say("alice", ALICE, "Please do.", ts)
    ids = [text.split('"')[1] for text in told(stage) if text.startswith("<timer-set")]
    assert len(set(ids)) == 2
    goes_on(stage, f'<cancel-timer id="{ids[0]}"/>')
    await stage.clock.advance(61)
    await stage.soul.worker.sweep()
    await stage.settled()
    assert [text for text in told(stage) if "timer-fired" in text] == [
        f'<timer-fired id="{ids[1]}" label="eggs"/>'
    ]
    goes_on(stage, final("Forget the tea."))
    await stage.clock.advance(60)
    await stage.soul.worker.sweep()
    await stage.settled()
    assert len([text for text in told(stage) if "timer-fired" in text]) == 1


async def test_a_stop_ends_all_of_it(stage: Stage) -> None:
    thinks(stage, spawns("slow"))
    slow = asyncio.Event()
    stage.model.say(final("Too late."), asks=OPEN, until=slow)
    ts = await stage.post("alice", ALICE, "What is it?")
    await stage.until(lambda: len(prompts(stage)) == 2)
    await stage.post("alice", ALICE, "stop", ts)
    await stage.until(lambda: stage.entries("thread-ended"))
    slow.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == [sentence(stage, "stopped")]
    assert [entry.event.status for entry in stage.entries("thread-ended")] == ["cancelled"]


@pytest.mark.parametrize("capacity", ["high", later("medium"), later("low"), "none"])
async def test_the_owner_says_how_far_it_goes(stage: Stage, capacity: str) -> None:
    await stage.sleep()
    path = stage.words / "prompts" / "open" / f"{capacity}.md"
    path.write_text(f"As far as {capacity} goes.")
    await stage.wake(iteration_capacity=capacity)
    thinks(stage, final("Done."))
    await stage.say("alice", ALICE, "Think.")
    asked = [body["messages"][-1]["content"][-1]["text"] for body in stage.model.requests]
    assert f"As far as {capacity} goes." in asked[-1]


async def test_fifty_branches_meet_the_bound_of_their_root_and_an_owner_is_asked_once(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(owner_user_ids=frozenset({"U0ALICE0001"}))
    items = "".join(f"<item>Count to {n}.</item>" for n in range(1, 51))
    thinks(stage, f"<fan-out>{items}</fan-out>", *[final("Done.")] * 38)
    ts = await stage.say("alice", ALICE, "Count.")
    [question] = [entry for entry in stage.pending("asked") if "." not in entry.thread]
    assert question.event.about["bound"] == "calls"
    assert len(stage.entries("model-call")) == 40
    goes_on(stage, *[final("Done.")] * 12, final("All counted."))
    await press(stage, "alice", ALICE, stage.soul.journal.entry(question.event.said[-1]).event.ts, "Continue")
    await stage.until(lambda: len(stage.entries("thread-ended")) == 50)
    await stage.settled()
    assert (await stage.answers(ALICE, ts))[-1] == "All counted."
    [collected] = [text for text in told(stage) if text.startswith("<fan-out-complete")]
    assert collected.startswith('<fan-out-complete total="50" successful="50">')


async def test_it_is_told_how_near_a_bound_is_once_at_each_mark(stage: Stage) -> None:
    await stage.sleep()
    await stage.wake(iteration_capacity="high", limit_turn=Limits(calls=20))
    thinks(stage, *[calls_itself(f"Thought {n}.") for n in range(18)], final("Done."))
    ts = await stage.say("alice", ALICE, "Think.")
    assert await stage.answers(ALICE, ts) == ["Done."]
    assert [text for text in told(stage) if text.startswith("<budget")] == [
        '<budget bound="calls" of="turn" percent="75" used="15" limit="20"/>',
        '<budget bound="calls" of="turn" percent="90" used="18" limit="20"/>',
        '<budget bound="calls" of="turn" percent="95" used="19" limit="20"/>',
    ]


@SOAK
async def test_a_final_answer_beside_a_call_to_itself_is_said_and_it_goes_on(stage: Stage) -> None:
    thinks(stage, final("A first answer.") + calls_itself("Let me check it."), final("It holds."))
    ts = await stage.say("alice", ALICE, "What is it?")
    assert await stage.answers(ALICE, ts) == ["A first answer.", "It holds."]


@SOAK
async def test_the_final_answer_is_read_as_it_is_written(stage: Stage) -> None:
    rest = asyncio.Event()
    stage.model.say(OVER)
    stage.model.say(f"<thought>Hm.</thought>{final('It is forty-two.')}", asks=OPEN, until=rest, first=48)
    ts = await stage.post("alice", ALICE, "What is it?")
    await stage.until(lambda: stage.entries("speech-started"))
    assert not stage.entries("spoken")
    rest.set()
    await stage.settled()
    assert await stage.answers(ALICE, ts) == ["It is forty-two."]


@SOAK
async def test_elsewhere_a_payload_is_text(stage: Stage) -> None:
    stage.model.say(f"<aside>x</aside><say>I could write {spawns('x')}.</say><mood>calm</mood>")
    ts = await stage.say("alice", ALICE, "How do you branch?")
    assert not stage.entries("thread-spawned", "self-call", "inner-message")
    assert len(await stage.answers(ALICE, ts)) == 1
