"""Detection of repetition (H11, H18, H19, H22)."""

from __future__ import annotations

import pytest

from daemon.settings.limits import AllowedPrograms
from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import ECHO
from tests.inner_life.programs.workshop import python
from tests.soak import SOAK, later, shared
from tests.stories.stage import GENERAL, Stage
from tests.stories.test_inner_processes import ended
from tests.stories.ticking import (
    COMPARES,
    Command,
    Shown,
    compares,
    did,
    do,
    lines,
    live,
    passes,
    shown,
    thinks,
    tick,
    unlike,
)

SAME = "I wonder whether the lift is stuck because of the humidity, and who could know that."
ALIKE = "I wonder whether the lift is stuck because of the humidity, and who might know this."
NEW = do("llm_memory.add", text="Ask Bob.")


def comparisons(stage: Stage) -> int:
    return sum(COMPARES in str(request["messages"]) for request in stage.model.requests)


async def says(stage: Stage, words: str, *commands: Command, seconds: float = 60.0) -> Shown:
    thinks(stage, words, *commands)
    return await tick(stage, seconds)


async def shows(stage: Stage, seconds: float = 60.0) -> Shown:
    return await says(stage, unlike(len(shown(stage)) + 500), NEW, seconds=seconds)


# H18: identical answers


async def test_the_same_three_times_is_one_reply_and_two_short_records(alive: Stage) -> None:
    stage = alive
    for _ in range(3):
        await says(stage, SAME, NEW)
    assert comparisons(stage) == 0, "that costs no call"
    asked = await shows(stage)
    assert asked.context(1).count("<reply ") == 1
    assert asked.context(1).count("<repeat ") == 2
    assert asked.context(1).count(SAME) == 1
    assert asked.context(6).count("Ask Bob.") == 1, "its commands were not run again"
    assert lines(stage)[1:] == ["thought", "repeated", "repeated", "thought"]


@SOAK
@pytest.mark.parametrize("other", [SAME.upper(), later(SAME.replace(" ", "\n\n")), later(f"  {SAME}  ")])
async def test_case_and_blanks_make_nothing_new(alive: Stage, other: str) -> None:
    stage = alive
    await says(stage, SAME)
    await says(stage, other)
    assert lines(stage)[-1] == "repeated"
    assert comparisons(stage) == 0


async def test_the_same_as_two_ticks_ago_is_no_repeat(alive: Stage) -> None:
    stage = alive
    other = do("llm_memory.add", text="Ask Alice.")
    for words, command in ((SAME, NEW), (unlike(1), other), (SAME, NEW)):
        await says(stage, words, command)
    assert lines(stage)[1:] == ["thought"] * 3
    assert len(stage.entries("command")) == 3
    await says(stage, SAME, NEW)
    assert lines(stage)[-1] == "repeated", "but directly after it"


@pytest.mark.parametrize("what", ["note", later("reaction")])
async def test_the_same_words_about_something_new_are_no_repeat(alive: Stage, what: str) -> None:
    stage = alive
    ts = await stage.say("bob", GENERAL, "The lift is stuck.")
    await says(stage, SAME, NEW)
    if what == "note":
        await stage.say("bob", GENERAL, "The lift is stuck.")
    else:
        await stage.client("bob").reactions_add(channel=GENERAL, timestamp=ts, name="tada")
        await stage.settled()
    await says(stage, SAME, NEW)
    assert lines(stage)[1:] == ["thought", "thought"]
    assert len(stage.entries("command")) == 2
    await says(stage, SAME, NEW)
    assert lines(stage)[-1] == "repeated", "nothing has happened since"
    assert comparisons(stage) == 0


async def test_the_same_words_when_a_program_has_ended_are_no_repeat(asleep: Stage) -> None:
    stage = asleep
    await live(stage, process_commands=AllowedPrograms({"it": python("print(1)")}))
    start = do("process.start", name="it")
    for times in (1, 2):
        await says(stage, SAME, start)
        await ended(stage, stage.entries("process-started")[-1].seq)
        assert len(stage.entries("process-ended")) == times
    assert "repeated" not in lines(stage)


# H11: next tick


async def test_context_7_names_the_strategy_and_the_reason_once(alive: Stage) -> None:
    stage = alive
    assert (await says(stage, SAME, NEW)).context(7) == "none"
    assert (await says(stage, SAME, NEW)).context(7) == "none"
    asked = await shows(stage)
    assert asked.context(7).startswith("reflex: rephrase\nYou said what you had said before")
    assert "I wonder whether the lift is stuck" in asked.context(7)
    assert (await shows(stage)).context(7) == "none"


# H19: similar answers


@pytest.mark.parametrize(("new", "outcome"), [(True, "thought"), (False, "repeated")])
async def test_what_is_alike_is_compared_by_a_small_call(alive: Stage, new: bool, outcome: str) -> None:
    stage = alive
    await says(stage, SAME)
    compares(stage, new=new)
    await says(stage, ALIKE)
    assert comparisons(stage) == 1
    request = stage.model.requests[-1]
    assert request["model"].startswith("claude-haiku")
    assert SAME in str(request["messages"])
    assert ALIKE in str(request["messages"])
    assert "<context" not in str(request["messages"])
    assert not request.get("system")
    assert lines(stage)[-1] == outcome


async def test_the_same_command_in_other_words_is_compared_and_not_run_again(alive: Stage) -> None:
    stage = alive
    await says(stage, SAME, NEW)
    compares(stage, new=False)
    await says(stage, "Somebody ought to be asked about all this.", NEW)
    assert (comparisons(stage), lines(stage)[-1]) == (1, "repeated")
    assert len(stage.entries("command")) == 1
    await says(stage, "Carol repaired the roof once.", do("llm_memory.add", text="Ask Carol."))
    assert (comparisons(stage), lines(stage)[-1]) == (1, "thought"), "another command is a new one"


@pytest.mark.parametrize(("words", "outcome"), [(ALIKE, "thought"), (f"{SAME} So.", "repeated")])
@pytest.mark.parametrize("fails", ["error", later("nonsense"), later("refusal")])
async def test_where_the_small_call_fails_only_what_is_nearly_the_same_is_a_repeat(
    alive: Stage, fails: str, words: str, outcome: str
) -> None:
    stage = alive
    await says(stage, SAME)
    if fails == "error":
        stage.model.fail(400, "invalid_request_error", asks=COMPARES)
    elif fails == "nonsense":
        stage.model.say("Perhaps.", asks=COMPARES)
    else:
        stage.model.refuse(asks=COMPARES)
    await says(stage, words)
    assert comparisons(stage) == 1
    assert lines(stage)[-1] == outcome


@pytest.mark.parametrize(("new", "outcome"), [(True, "thought"), (False, "repeated")])
async def test_words_without_a_command_are_compared_however_unlike_they_are(
    alive: Stage, new: bool, outcome: str
) -> None:
    stage = alive
    await says(stage, unlike(1))
    compares(stage, new=new)
    await says(stage, unlike(2))
    assert comparisons(stage) == 1
    assert unlike(1) in str(stage.model.requests[-1]["messages"])
    assert lines(stage)[-1] == outcome


async def test_three_ticks_that_only_look_are_compared(alive: Stage) -> None:
    stage = alive
    for number in (1, 2):
        await says(stage, unlike(number), do("diary.search", query=unlike(number)))
    assert comparisons(stage) == 0
    compares(stage, new=False)
    await says(stage, unlike(3), do("diary.search", query=unlike(3)))
    assert comparisons(stage) == 1
    assert lines(stage)[-1] == "repeated"


async def test_the_answer_before_is_compared_and_none_that_is_more_alike(alive: Stage) -> None:
    stage = alive
    await says(stage, SAME, NEW)
    await says(stage, unlike(1), NEW)
    compares(stage, new=True)
    await says(stage, ALIKE)
    asked = str(stage.model.requests[-1]["messages"])
    assert unlike(1) in asked
    assert SAME not in asked
    assert lines(stage)[-1] == "thought"


@SOAK
@pytest.mark.parametrize("what", ["record", later("note")])
async def test_a_new_record_or_note_lets_it_go_on(alive: Stage, what: str) -> None:
    stage = alive
    for number in range(4):
        if what == "note":
            await stage.say("bob", GENERAL, f"This is message {number}.")
        await says(stage, unlike(number), *([NEW] if what == "record" else []))
    assert comparisons(stage) == 0
    assert lines(stage)[1:] == ["thought"] * 4


WAITS = {
    "sleep": do("cycle.idle", seconds=60),
    "pause": do("cycle.pause", seconds=60),
}


@pytest.mark.parametrize("way", shared(WAITS, 2))
async def test_to_wait_is_never_a_repeat(alive: Stage, way: str) -> None:
    stage = alive
    for _ in range(5):
        await says(stage, SAME, WAITS[way])
    assert lines(stage)[1:] == ["waiting"] * 5
    assert comparisons(stage) == 0
    assert (await shows(stage)).context(7) == "none"


# H22: remedies, cheap ones first


async def circles(stage: Stage, times: int) -> Shown:
    await says(stage, SAME, NEW)
    for _ in range(times):
        await says(stage, SAME)
    return await shows(stage)


def strategy(asked: Shown) -> str:
    return asked.context(7).partition("\n")[0].removeprefix("reflex: ")


@SOAK
async def test_each_is_tried_once_before_a_dearer_one(asleep: Stage) -> None:
    stage = asleep
    await live(
        stage,
        owner_user_ids=frozenset({ALICE_HERSELF.id}),
        allowed_bots=frozenset({ECHO.user}),
    )
    await did(stage, do("diary.add", text="Spring has come."), words="I write that down.")
    await says(stage, SAME, NEW)
    seen = []
    for _ in range(6):
        asked = await says(stage, SAME)
        seen.append(strategy(asked))
    assert seen[:2] == ["none", "rephrase"]
    assert set(seen[2:4]) == {"flashback", "switch"}
    assert set(seen[4:6]) == {"neighbour", "owner"}
    asked = await shows(stage, 120)
    assert strategy(asked) == "pause"


@SOAK
async def test_a_flashback_shows_a_far_entry_of_its_diary(alive: Stage) -> None:
    stage = alive
    await did(stage, do("diary.add", text="The storks came back today."), words="I write that down.")
    entry = stage.entries("command")[-1].seq
    await says(stage, SAME)
    await says(stage, SAME)
    await says(stage, SAME)
    asked = await shows(stage)
    assert strategy(asked) == "flashback"
    assert f"stands {entry}," in asked.context(7)
    assert "The storks came back today." in asked.context(3)
    assert "storks" not in (await shows(stage)).context(3)


@SOAK
async def test_another_task_is_shown_with_a_reminder_to_return(alive: Stage) -> None:
    asked = await circles(alive, 2)
    assert strategy(asked) == "switch"
    assert "Ask Bob." in asked.context(7)
    assert "Ask Bob." in asked.context(6)
    assert "return to it" in " ".join(asked.context(7).split())


@SOAK
async def test_a_neighbour_is_named_that_it_may_ask(asleep: Stage) -> None:
    stage = asleep
    await live(stage, allowed_bots=frozenset({ECHO.user}))
    asked = await circles(stage, 3)
    assert strategy(asked) == "neighbour"
    assert f"ask your neighbour {ECHO.user} by `mesh.ask`" in asked.context(7)


async def test_an_owner_is_asked_at_most_once_in_six_hours(asleep: Stage) -> None:
    stage = asleep
    await live(stage, owner_user_ids=frozenset({ALICE_HERSELF.id}))
    asked = await circles(stage, 3)
    assert strategy(asked) == "owner"
    assert ALICE_HERSELF.id in asked.context(7)
    for number, third, rests in ((1, "pause", 120), (2, "owner", 60)):
        for _ in range(4):
            await says(stage, unlike(number))
        asked = await shows(stage, rests)
        assert strategy(asked) == third
        await says(stage, "I sleep.", do("cycle.idle", seconds=6 * 3_600))
        await shows(stage, 6 * 3_600)


async def test_a_pause_is_a_longer_one_each_time(alive: Stage) -> None:
    stage = alive
    await says(stage, SAME)
    await says(stage, SAME)
    assert (strategy(await says(stage, SAME))) == "rephrase"
    calls = len(shown(stage))
    await passes(stage, 119)
    assert len(shown(stage)) == calls, "it rests twice as long as ever"
    asked = await says(stage, SAME, seconds=1)
    assert strategy(asked) == "pause"
    assert "You rested about 2 minutes" in asked.context(7)
    await passes(stage, 239)
    assert len(shown(stage)) == calls + 1
    asked = await shows(stage, seconds=1)
    assert "You rested about 4 minutes" in asked.context(7)


async def test_what_worked_is_recorded(alive: Stage) -> None:
    stage = alive
    await circles(stage, 1)
    await says(stage, SAME, NEW)
    await says(stage, SAME, NEW)
    asked = await shows(stage)
    assert strategy(asked) == "rephrase", "it worked before, so it is tried first again"
