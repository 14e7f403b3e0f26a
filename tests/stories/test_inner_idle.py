"""Idling without calls until a condition (H16, H17)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from daemon.kinds import ProgramStopRequested
from daemon.settings.limits import AllowedPrograms
from tests.soak import SOAK, later, shared
from tests.stories.stage import ALICE, GENERAL, RANDOM, Stage, reply
from tests.stories.ticking import (
    LASTS,
    Command,
    Shown,
    did,
    do,
    lines,
    live,
    note_of,
    passes,
    shown,
    thinks,
    tick,
    unlike,
)

HOUR = 3_600.0


async def sleeps(stage: Stage, **until: Any) -> None:
    [*_, ran] = await did(stage, do("cycle.idle", **until))
    assert ran.event.ok, ran.event.text


async def woken(stage: Stage, seconds: float = 60.0) -> Shown:
    thinks(stage, unlike(len(shown(stage))))
    return await tick(stage, seconds)


async def test_a_time(alive: Stage) -> None:
    stage = alive
    await sleeps(stage, seconds=HOUR)
    await passes(stage, HOUR - 1)
    assert len(stage.model.requests) == 1
    asked = await woken(stage, 1)
    assert asked.setting("why you think now") == "the time of your sleep is over"
    assert asked.setting("in view") == "public things only"


FITTING: dict[str, Any] = {
    "any, and what is null says nothing": {"priority": None, "source": None, "since": None},
    "its source": {"source": "channel"},
    "its priority": {"priority": "normal"},
    "its tags": {"tags": ["house"]},
    "all of that": {"source": "channel", "priority": "low", "tags": ["house"]},
}
UNFIT: dict[str, Any] = {
    "source": {"source": "reaction"},
    "priority": {"priority": "important"},
    "tags": {"tags": ["house", "garden"]},
    "one of several": {"source": "channel", "priority": "urgent"},
    "time": {"since": 1_800_000_000.0},
}
SAID = "The lift is stuck. #house"


@pytest.mark.parametrize("fits", shared(FITTING, 4))
async def test_a_note_that_fits(alive: Stage, fits: str) -> None:
    stage = alive
    await sleeps(stage, notes=FITTING[fits])
    await passes(stage, HOUR)
    assert len(stage.model.requests) == 1
    thinks(stage, unlike(1))
    await stage.say("bob", GENERAL, SAID)
    await passes(stage, 1)
    asked = shown(stage)[-1]
    assert len(shown(stage)) == 2
    note = note_of(stage, "lift")
    assert asked.setting("why you think now") == f"notes came: {note}"
    assert asked.setting("in view").startswith("#general (")
    assert f'<note id="{note}" priority="normal"' in asked.context(4)


@pytest.mark.parametrize("fits_not", shared(UNFIT, 3))
async def test_a_note_that_does_not_fit_wakes_nobody(alive: Stage, fits_not: str) -> None:
    stage = alive
    await sleeps(stage, notes=UNFIT[fits_not])
    await stage.say("bob", GENERAL, SAID)
    await passes(stage, 1)
    await passes(stage, 30 * 24 * HOUR)
    assert len(stage.model.requests) == 1


@SOAK
async def test_a_note_that_was_there_before_wakes_nobody(alive: Stage) -> None:
    stage = alive
    await stage.say("bob", GENERAL, SAID)
    await sleeps(stage, notes={"priority": "low"})
    await passes(stage, 24 * HOUR)
    assert len(shown(stage)) == 1


async def test_a_direct_message_wakes_it_and_comes_into_view(alive: Stage) -> None:
    stage = alive
    await sleeps(stage, notes={"source": "dm"})
    await stage.say("bob", RANDOM, "Nobody asked.")
    await passes(stage, HOUR)
    stage.model.say(reply("Hello."))
    thinks(stage, unlike(1))
    await stage.say("alice", ALICE, "Hello, Claudius")
    asked = shown(stage)[-1]
    assert asked.setting("why you think now") == f"notes came: {note_of(stage, 'Hello, Claudius')}"
    assert asked.setting("in view").startswith("a direct message (")


# Any of several


CONDITIONS = ("processes", "notes", "seconds")
SEVERAL = [
    (chosen, first) for size in (2, 3) for chosen in combinations(CONDITIONS, size) for first in chosen
]


@SOAK
@pytest.mark.parametrize(
    ("chosen", "first"), [later(*one) if number % 5 else one for number, one in enumerate(SEVERAL)], ids=str
)
async def test_the_first_of_several_is_enough(asleep: Stage, chosen: tuple[str, ...], first: str) -> None:
    stage = asleep
    await live(stage, process_commands=AllowedPrograms({"it": LASTS}))
    await did(stage, do("process.start", name="it"))
    [process] = [entry.seq for entry in stage.entries("process-started")]
    conditions = {"processes": [process], "notes": {"priority": "normal"}, "seconds": HOUR}
    await sleeps(stage, **{name: conditions[name] for name in chosen})
    await passes(stage, 60)
    thinks(stage, unlike(9))
    if first == "seconds":
        await passes(stage, HOUR)
        why = "the time of your sleep is over"
    elif first == "notes":
        await stage.say("bob", GENERAL, SAID)
        await passes(stage, 1)
        why = f"notes came: {note_of(stage, 'lift')}"
    else:
        await ends(stage, process)
        why = f"processes ended: {process}"
    assert len(shown(stage)) == 3
    assert shown(stage)[-1].setting("why you think now") == why
    thinks(stage, "Again.", do("cycle.idle", seconds=1e6))
    await passes(stage, 60)
    calls = len(shown(stage))
    await stage.say("bob", GENERAL, "And again.")
    await passes(stage, 2 * HOUR)
    assert len(shown(stage)) == calls, "the others have gone with it"


async def ends(stage: Stage, process: int) -> None:
    await stage.soul.journal.append(
        "sess-inner", ProgramStopRequested(process=process), key=f"stopped-by-hand:{process}", author="soul"
    )
    await stage.until(lambda: not stage.soul.journal.is_pending(process))
    await stage.settled()


# Late


@SOAK
async def test_a_time_that_passed_while_the_daemon_was_down_wakes_it_once(alive: Stage) -> None:
    stage = alive
    await sleeps(stage, seconds=HOUR)
    await stage.sleep()
    await stage.clock.leap(24 * HOUR)
    thinks(stage, unlike(1))
    await live(stage)
    await passes(stage, 60)
    assert len(shown(stage)) == 2
    assert shown(stage)[-1].setting("why you think now") == "the time of your sleep is over"
    thinks(stage, "Again.", do("cycle.idle", seconds=1e6))
    await passes(stage, 60)
    await passes(stage, 24 * HOUR)
    assert len(shown(stage)) == 3


async def test_a_restart_wakes_nobody(alive: Stage) -> None:
    stage = alive
    await sleeps(stage, seconds=HOUR)
    for _ in range(3):
        await stage.sleep()
        await live(stage)
        await passes(stage, 600)
    assert len(stage.model.requests) == 1
    assert lines(stage)[-3:] == ["asleep"] * 3
    asked = await woken(stage, HOUR - 1_800)
    assert asked.setting("why you think now") == "the time of your sleep is over"


async def test_a_note_that_came_while_the_daemon_was_down_wakes_it(alive: Stage) -> None:
    stage = alive
    await sleeps(stage, notes={"priority": "normal"})
    await stage.sleep()
    await stage.post("bob", GENERAL, SAID)
    await stage.clock.leap(HOUR)
    thinks(stage, unlike(1))
    await live(stage)
    await passes(stage, 60)
    assert [one.setting("why you think now") for one in shown(stage)[1:]] == [
        f"notes came: {note_of(stage, 'lift')}"
    ]


# Asleep


async def test_what_comes_in_asleep_is_kept_without_a_call(alive: Stage) -> None:
    stage = alive
    await sleeps(stage, seconds=HOUR)
    await stage.say("bob", GENERAL, SAID)
    await stage.say("carol", RANDOM, "Lunch?")
    assert len(stage.model.requests) == 1
    asked = await woken(stage, HOUR)
    assert asked.context(4).startswith("urgent: 0, important: 0, normal: 2, low: 0")


@SOAK
async def test_what_it_said_last_before_a_sleep_is_in_sight_after_it(alive: Stage) -> None:
    stage = alive
    await did(
        stage,
        do("llm_memory.add", text="Go on with the lift."),
        do("cycle.idle", seconds=HOUR),
        words="Good night.",
    )
    asked = await woken(stage, HOUR)
    assert "Good night." in asked.context(1)
    assert asked.results["cycle.idle"] == ("yes", "You slept.")
    assert "Go on with the lift." in asked.context(6)


# Wake conditions


@pytest.mark.parametrize("comes", ["a note", later("a low note"), "a process"])
async def test_without_arguments_it_sleeps_until_something_comes(asleep: Stage, comes: str) -> None:
    stage = asleep
    await live(stage, process_commands=AllowedPrograms({"it": LASTS}))
    ts = await stage.say("bob", GENERAL, SAID)
    await did(stage, do("process.start", name="it"))
    [process] = [entry.seq for entry in stage.entries("process-started")]
    await sleeps(stage)
    await passes(stage, 30 * HOUR)
    calls = len(shown(stage))
    thinks(stage, unlike(9))
    if comes == "a process":
        await ends(stage, process)
        why = f"processes ended: {process}"
    elif comes == "a note":
        await stage.say("bob", GENERAL, "It sticks again.")
        await passes(stage, 1)
        why = f"notes came: {note_of(stage, 'sticks again')}"
    else:
        await stage.client("alice").reactions_add(channel=GENERAL, timestamp=ts, name="tada")
        await passes(stage, 1)
        why = f"notes came: {stage.entries('reaction')[0].seq}"
    assert len(shown(stage)) == calls + 1
    assert shown(stage)[-1].setting("why you think now") == why


# Commands in the same answer


WAKE = "what you asked for before your sleep is here"


async def asks_and_sleeps(stage: Stage, *asked: Command, **until: Any) -> Shown:
    calls = len(shown(stage))
    thinks(stage, unlike(calls), *asked, do("cycle.idle", **until))
    await passes(stage, 60)
    thinks(stage, "I see, and sleep.")
    await passes(stage, 60)
    assert len(shown(stage)) == calls + 2
    return shown(stage)[-1]


async def test_what_it_asked_for_it_sees_before_it_sleeps_as_it_wanted(alive: Stage) -> None:
    stage = alive
    await stage.say("bob", GENERAL, SAID)
    note = note_of(stage, "lift")
    asked = await asks_and_sleeps(stage, do("notes.read", ids=[note]), notes={"priority": "urgent"})
    assert asked.setting("why you think now") == WAKE
    assert asked.setting("in view").startswith("#general (")
    assert "The lift is stuck." in asked.context(4)
    calls = len(shown(stage))
    await passes(stage, 30 * HOUR)
    await stage.say("bob", GENERAL, "Not urgent.")
    await passes(stage, HOUR)
    assert len(shown(stage)) == calls, "it sleeps, until what it wanted"


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        (do("diary.search", query="rain"), '<result of="diary.search"'),
        later(do("files.read", path="no/such.md"), '<result of="files.read"'),
        (do("process.list"), '<result of="process.list"'),
        (do("help", type="diary.add"), '<result of="help"'),
        (do("notes.hide", ids=[9_999]), 'done="no"'),
    ],
    ids=str,
)
async def test_so_it_sees_what_a_search_found_and_what_went_wrong(
    alive: Stage, command: Command, seen: str
) -> None:
    asked = await asks_and_sleeps(alive, command)
    assert seen in asked.context(2)
    await passes(alive, 30 * HOUR)
    assert len(shown(alive)) == 2


async def test_what_it_only_wrote_down_keeps_it_from_no_sleep(alive: Stage) -> None:
    thinks(alive, unlike(1), do("diary.add", text="It rains."), do("cycle.idle"))
    await passes(alive, 60)
    await passes(alive, 30 * HOUR)
    assert len(shown(alive)) == 1


async def test_who_is_shown_it_may_go_on_in_another_way(alive: Stage) -> None:
    stage = alive
    thinks(stage, unlike(1), do("process.list"), do("cycle.idle"))
    await passes(stage, 60)
    thinks(stage, unlike(2), do("diary.add", text="Nothing runs."))
    await passes(stage, 60)
    thinks(stage, unlike(3), do("cycle.idle", seconds=HOUR))
    await passes(stage, 60)
    assert len(shown(stage)) == 3
    assert [ran.event.name for ran in stage.entries("command")][-2:] == ["diary.add", "cycle.idle"]


async def test_a_kill_before_it_sees_that_changes_nothing(alive: Stage) -> None:
    stage = alive
    await stage.say("bob", GENERAL, SAID)
    thinks(stage, unlike(1), do("notes.read", ids=[note_of(stage, "lift")]), do("cycle.idle"))
    await passes(stage, 60)
    await stage.sleep()
    await live(stage)
    thinks(stage, "I see, and sleep.")
    await passes(stage, 120)
    assert "The lift is stuck." in shown(stage)[-1].context(4)
    calls = len(shown(stage))
    await passes(stage, 30 * HOUR)
    assert len(shown(stage)) == calls


async def test_after_that_sleep_public_things_are_in_view(alive: Stage) -> None:
    stage = alive
    await stage.say("bob", GENERAL, SAID)
    asked = await asks_and_sleeps(stage, do("notes.read", ids=[note_of(stage, "lift")]), seconds=HOUR)
    assert asked.setting("in view").startswith("#general (")
    thinks(stage, unlike(9))
    await passes(stage, HOUR)
    woken = shown(stage)[-1]
    assert woken.setting("why you think now") == "the time of your sleep is over"
    assert woken.setting("in view") == "public things only"


@pytest.mark.parametrize("then", ["I see, and sleep.", "I see, and sleep.\n# Commands:\n# End of commands"])
async def test_to_sleep_in_the_words_of_before_is_no_repetition(alive: Stage, then: str) -> None:
    stage = alive
    for number in range(2):
        thinks(stage, unlike(number), do("diary.search", query="rain"), do("cycle.idle", seconds=HOUR))
        await passes(stage, HOUR)
        thinks(stage, then)
        await passes(stage, 60)
    assert lines(stage)[-4:] == ["thought", "waiting"] * 2
    calls = len(shown(stage))
    await passes(stage, HOUR - 120)
    assert len(shown(stage)) == calls, "it sleeps"


async def test_a_process_that_ends_before_it_has_seen_wakes_it(asleep: Stage) -> None:
    stage = asleep
    await live(stage, process_commands=AllowedPrograms({"it": LASTS}))
    await did(stage, do("process.start", name="it"))
    [process] = [entry.seq for entry in stage.entries("process-started")]
    thinks(stage, unlike(8), do("process.list"), do("cycle.idle", processes=[process]))
    await passes(stage, 60)
    await ends(stage, process)
    thinks(stage, "I see, and sleep.")
    await passes(stage, 60)
    thinks(stage, unlike(9))
    await passes(stage, 60)
    assert shown(stage)[-1].setting("why you think now") == f"processes ended: {process}"
