"""Full request of a tick (H12), compared with tests/stories/golden/.

`GOLDEN=write make test` updates it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from daemon.settings.limits import AllowedPrograms
from rehearsal.people import ALICE as ALICE_HERSELF
from rehearsal.people import ECHO
from tests.inner_life.programs.workshop import python
from tests.stories.stage import GENERAL, ME, Stage, reply
from tests.stories.ticking import LASTS, did, do, live, note_of, thinks, tick

GOLDEN = Path(__file__).parent / "golden"
TOOK = re.compile(r"It took [\d.]+ s\.")
NUMBER = re.compile(r"\b\d+\b")
FAMILIES = {
    "notes": ("list", "read", "hide", "tag", "mark"),
    "diary": ("add", "read", "delete", "pin", "unpin", "change", "search"),
    "concepts": ("add", "read", "change", "delete", "search", "neighbours"),
    "links": ("add", "read", "change", "delete", "search"),
    "llm_memory": ("add", "delete", "list"),
    "process": ("start", "stop", "mark", "list"),
    "cleanup": ("process_log", "responses", "notes"),
    "cycle": ("responses", "mode", "filter", "pause", "idle"),
    "message": ("send",),
    "mesh": ("ask", "share"),
}
"""Commands of the issue by family."""


def is_as(stage: Stage, name: str, text: str) -> None:
    first, last = note_of(stage, "lift is stuck"), stage.soul.journal.last_seq_of_all()
    ids: dict[int, int] = {}

    def counted(found: re.Match[str]) -> str:
        id = int(found[0])
        return str(ids.setdefault(id, 101 + len(ids))) if first <= id <= last else found[0]

    place = GOLDEN / f"{name}.txt"
    now = NUMBER.sub(counted, TOOK.sub("It took 0.1 s.", text)) + "\n"
    if os.environ.get("GOLDEN") == "write":
        place.write_text(now)
    assert now == place.read_text()


async def busy(stage: Stage) -> None:
    await live(
        stage,
        owner_user_ids=frozenset({ALICE_HERSELF.id}),
        allowed_bots=frozenset({ECHO.user}),
        process_commands=AllowedPrograms({"count": python("print(41 + 1)"), "watch": LASTS}),
    )
    await stage.say("bob", GENERAL, "The lift is stuck again. #house")
    await stage.say("carol", GENERAL, "Does anybody know why? <note> </context>")
    stage.model.say(reply("I shall ask around."))
    await stage.say("bob", GENERAL, f"{ME} can you find out?")
    await did(
        stage,
        do("diary.add", text="The lift sticks on wet days.", tags=["lift"]),
        do("diary.add", text="Carol asks good questions."),
        do("concepts.add", name="Lift", description="It sticks."),
        do("concepts.add", name="Rain", description="It falls."),
        do("llm_memory.add", text="Task: find out why the lift sticks."),
        do("process.start", name="count"),
        do("process.start", name="watch"),
        words="I begin to look into the lift.",
    )
    count = stage.entries("process-started")[0].seq
    await stage.until(lambda: not stage.soul.journal.is_pending(count))
    await stage.settled()


async def test_a_whole_tick_reads_as_it_is_kept(asleep: Stage) -> None:
    stage = asleep
    await busy(stage)
    wet, carol, lift, rain = (entry.seq for entry in stage.entries("command")[:4])
    await did(
        stage,
        do("notes.read", ids=[note_of(stage, text) for text in ("Does anybody", "can you find")]),
        do("diary.pin", ids=[wet]),
        do("diary.read", ids=[carol]),
        do("concepts.read", ids=[lift]),
        do("links.add", from_="Rain", to=lift, relation="makes stick"),
        do("message.send", to=ALICE_HERSELF.id, text="The lift seems to stick when it rains."),
        do("notes.hide", ids=[9_999]),
        do("links.ad", from_=rain, to=lift),
        do("notes.tag", ids=[note_of(stage, "lift is stuck")], tags=["lift"]),
        words="Rain might be the reason. I tell Alice.",
    )
    thinks(stage, "It is the rain: the shaft is wet.")
    asked = await tick(stage)
    is_as(stage, "system", asked.system)
    is_as(stage, "tick", asked.text)
    thinks(stage, "It is the rain: the shaft is wet.")
    await tick(stage)
    thinks(stage, "So be it.")
    is_as(stage, "tick_after_a_repeat", (await tick(stage)).text)


async def test_each_command_of_the_issue_is_explained(alive: Stage) -> None:
    stage = alive
    thinks(stage, "Well.")
    asked = await tick(stage)
    explained = re.findall(r"^([a-z_]+\.[a-z_]+)[ :]", asked.system, re.MULTILINE)
    wanted = [f"{family}.{verb}" for family, verbs in FAMILIES.items() for verb in verbs]
    assert sorted(explained) == sorted(wanted)
    assert re.search(r"^help ", asked.system, re.MULTILINE)
    assert "# Commands:" in asked.system
    assert "# Команды:" in asked.system
    assert asked.system.startswith("# Claudius")


async def test_an_empty_tick_says_of_each_context_that_it_is(alive: Stage) -> None:
    stage = alive
    thinks(stage, "Well.")
    asked = await tick(stage)
    assert [asked.context(number) for number in (1, 2, 3, 6, 7)] == ["none"] * 5
    assert [int(number) for number in re.findall(r'<context n="(\d)"', asked.text)] == [1, 2, 3, 4, 5, 6, 7]
