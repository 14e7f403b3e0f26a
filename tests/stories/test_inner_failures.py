"""Failed commands, shown until marked (HMP seed, section 1)."""

from __future__ import annotations

import re

from tests.stories.stage import ALICE, Stage, reply
from tests.stories.ticking import did, do, does, live, shown, thinks, tick, unlike

NOBODY = "There is no note 9999"
FAILS = do("notes.hide", ids=[9_999])


def failures(text: str) -> dict[int, str]:
    found = re.findall(
        r'<result of="[^"]*" id="[^"]*" mark="(\d+)" done="no">(.*?)</result>', text, re.DOTALL
    )
    return {int(mark): words for mark, words in found}


async def quiet(stage: Stage) -> str:
    thinks(stage, unlike(len(shown(stage))))
    return (await tick(stage)).context(2)


async def test_it_stays_until_it_is_marked_and_is_gone_then(alive: Stage) -> None:
    [failed] = await did(alive, FAILS)
    for _ in range(3):
        assert list(failures(await quiet(alive))) == [failed.seq]
    asked = await does(alive, do("process.mark", id=failed.seq))
    assert asked.results["process.mark"] == (
        "yes",
        f"The failed command {failed.seq} is dealt with, and out of sight.",
    )
    assert failures(await quiet(alive)) == {}


async def test_what_was_done_is_told_once_as_ever(alive: Stage) -> None:
    await did(alive, do("diary.add", text="A day like any."))
    assert "diary.add" in await quiet(alive)
    assert "diary.add" not in await quiet(alive)


async def test_what_cannot_be_read_or_is_unknown_stays_too(alive: Stage) -> None:
    lines = ['{"type": "diary.ad", "args": {}}', '{"type": "diary.add", "args": {"text": 5}}', "{oh"]
    broken = "\n".join(["# Commands:", *lines, "# End of commands"])
    alive.model.say(f"Well, well.\n{broken}")
    await tick(alive)
    await quiet(alive)
    left = failures(await quiet(alive))
    assert len(left) == 3
    await did(alive, *[do("process.mark", id=mark) for mark in left])
    assert failures(await quiet(alive)) == {}


async def test_it_survives_a_restart(alive: Stage) -> None:
    [failed] = await did(alive, FAILS)
    await alive.sleep()
    await live(alive)
    assert NOBODY in failures(await quiet(alive))[failed.seq]
    await did(alive, do("process.mark", id=failed.seq))
    await alive.sleep()
    await live(alive)
    assert failures(await quiet(alive)) == {}


async def test_the_same_failure_again_is_one(alive: Stage) -> None:
    await did(alive, FAILS)
    [again] = await did(alive, FAILS)
    assert list(failures(await quiet(alive))) == [again.seq]
    other = await did(alive, do("notes.hide", ids=[8_888]))
    await quiet(alive)
    assert list(failures(await quiet(alive))) == [again.seq, other[0].seq]


async def test_a_mark_of_what_there_is_not_fails_and_stays(alive: Stage) -> None:
    [failed] = await did(alive, do("process.mark", id=77_777))
    assert failed.event.text.startswith("There is no process 77777 in sight.")
    await quiet(alive)
    assert list(failures(await quiet(alive))) == [failed.seq]


async def test_the_list_names_them(alive: Stage) -> None:
    [failed] = await did(alive, FAILS)
    asked = await does(alive, do("process.list"))
    assert f"{failed.seq} notes.hide failed: {NOBODY}" in asked.results["process.list"][1]


async def test_many_are_bounded_and_the_newest_are_in_sight(alive: Stage) -> None:
    ran = await did(alive, *[do("notes.hide", ids=[9_000 + number]) for number in range(30)])
    assert len(failures(await quiet(alive))) == 30, "what the last reply came to is told whole"
    text = await quiet(alive)
    assert list(failures(text)) == [one.seq for one in ran[-20:]]
    assert '<left-out more="10"/>' in text
    await did(alive, *[do("process.mark", id=one.seq) for one in ran[-20:]])
    await quiet(alive)
    assert list(failures(await quiet(alive))) == [one.seq for one in ran[:10]]


async def test_one_in_sight_of_a_dm_is_not_in_sight_of_public_things(alive: Stage) -> None:
    alive.model.say(reply("I see."))
    await alive.say("alice", ALICE, "My bees are behind the windmill.")
    [said] = [entry.seq for entry in alive.entries("message")]
    await did(alive, do("notes.read", ids=[said]))
    [failed] = await did(alive, do("diary.delete", ids=[66_666]))
    assert failed.event.view
    assert list(failures(await quiet(alive))) == [failed.seq]
    await did(alive, do("cycle.idle", seconds=60))
    text = await quiet(alive)
    assert failures(text) == {}
    refused = await does(alive, do("process.mark", id=failed.seq))
    assert refused.results["process.mark"][0] == "no", "nor can it be marked there"
