"""Real programs of the owner's list (H1-H3, H5)."""

from __future__ import annotations

import os
import re
import signal

import pytest

from daemon.inner_life.programs.program_folder import wrapper_pid
from daemon.settings.limits import AllowedProgram, AllowedPrograms
from tests.inner_life.programs.workshop import python, shell, until
from tests.signed_in import TOKEN
from tests.soak import SOAK, but, later
from tests.stories.stage import Stage
from tests.stories.test_open_thought import OPEN, final
from tests.stories.test_reading import endings
from tests.stories.ticking import (
    LASTS,
    Shown,
    did,
    do,
    does,
    live,
    passes,
    shown,
    thinks,
    tick,
    unlike,
)

ENDS = {
    "ok": python("print('all is well')"),
    "warning": python("import sys; print('done'); print('but slowly', file=sys.stderr)"),
    "error": python("raise SystemExit('it broke')"),
}
"""Programs by final status."""


async def started(stage: Stage, name: str, **slots: str) -> int:
    [ran] = await did(stage, do("process.start", name=name, slots=slots))
    assert ran.event.ok, ran.event.text
    return stage.entries("process-started")[-1].seq


async def ended(stage: Stage, process: int) -> None:
    await stage.until(lambda: not stage.soul.journal.is_pending(process))
    await stage.settled()


async def thought(stage: Stage) -> Shown:
    thinks(stage, unlike(len(shown(stage)) + 100))
    return await tick(stage)


def process_of(asked: Shown, id: int) -> tuple[str, str]:
    found = re.search(rf'<process id="{id}"[^>]* status="(\w+)"[^>]*>(.*?)</process>', asked.context(2), re.S)
    assert found, "it is not in sight"
    return found[1], found[2]


async def lives(stage: Stage, **recipes: AllowedProgram) -> None:
    await live(stage, process_commands=AllowedPrograms(recipes))


# H1, H5


@pytest.mark.parametrize("status", but(ENDS, ["warning"]))
async def test_how_it_ended_is_in_the_next_request(asleep: Stage, status: str) -> None:
    stage = asleep
    await lives(stage, it=ENDS[status])
    process = await started(stage, "it")
    await ended(stage, process)
    asked = await thought(stage)
    assert process_of(asked, process)[0] == status
    assert asked.setting("programs") == "it(); think(task)"


async def test_a_program_that_runs_is_seen_to_run_until_it_is_stopped(asleep: Stage) -> None:
    stage = asleep
    await lives(stage, it=LASTS)
    process = await started(stage, "it")
    asked = await thought(stage)
    assert process_of(asked, process) == ("in_progress", "")
    asked = await does(stage, do("process.list"))
    assert f"{process} it: in_progress" in asked.results["process.list"][1]
    await until(lambda: [*stage.home.glob("processes/*/wrapper")])
    await did(stage, do("process.stop", id=process))
    await ended(stage, process)
    asked = await thought(stage)
    status, result = process_of(asked, process)
    assert (status, "It was stopped, as you wanted." in result) == ("error", True)


@SOAK
async def test_what_used_up_its_time_is_a_timeout(asleep: Stage) -> None:
    stage = asleep
    await lives(stage, it=python("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)"))
    process = await started(stage, "it")
    await ended(stage, process)
    assert process_of(await thought(stage), process)[0] == "timeout"


async def test_what_a_crash_lost_is_offline(asleep: Stage) -> None:
    stage = asleep
    await lives(stage, it=LASTS)
    process = await started(stage, "it")
    await until(lambda: [*stage.home.glob("processes/*/wrapper")])
    await stage.sleep()
    [folder] = stage.home.glob("processes/*")
    wrapper = wrapper_pid(folder)
    assert wrapper
    os.kill(wrapper, signal.SIGKILL)
    await until(lambda: wrapper_pid(folder) is None)
    await lives(stage, it=LASTS)
    await ended(stage, process)
    asked = await thought(stage)
    assert process_of(asked, process)[0] == "offline"


@SOAK
async def test_slots_are_single_arguments(asleep: Stage) -> None:
    stage = asleep
    await lives(stage, say=python("import sys; print(sys.argv[1:])", "--", "{words}"))
    process = await started(stage, "say", words="a b; rm -rf $HOME")
    await ended(stage, process)
    assert "['--', 'a b; rm -rf $HOME']" in process_of(await thought(stage), process)[1]


@pytest.mark.parametrize(
    ("name", "slots", "why"),
    [
        ("rm", {}, "There is no program 'rm'. There are: say with the slots words."),
        ("say", {}, "words needs a value; slots: words. Write it as say with the slots words."),
        later("say", {"words": "x", "more": "y"}, "there is no slot 'more'"),
    ],
)
async def test_what_the_owner_did_not_list_does_not_run(
    asleep: Stage, name: str, slots: dict[str, str], why: str
) -> None:
    stage = asleep
    await lives(stage, say=python("import sys; print(sys.argv[1:])", "{words}"))
    asked = await does(stage, do("process.start", name=name, slots=slots))
    assert asked.results["process.start"][0] == "no"
    assert why in asked.results["process.start"][1]
    assert not stage.entries("process-started")


@SOAK
async def test_the_name_of_the_seed_starts_it_too(asleep: Stage) -> None:
    stage = asleep
    await lives(stage, it=ENDS["ok"])
    await did(stage, do("shell", name="it"))
    [entry] = stage.entries("process-started")
    await ended(stage, entry.seq)
    assert "all is well" in process_of(await thought(stage), entry.seq)[1]


# H2


@SOAK
async def test_what_is_dealt_with_leaves_its_sight(asleep: Stage) -> None:
    stage = asleep
    await lives(stage, it=ENDS["ok"], long=LASTS)
    process = await started(stage, "it")
    await ended(stage, process)
    running = await started(stage, "long")
    asked = await does(stage, do("process.mark", id=process))
    assert "all is well" not in asked.text
    assert f'<process id="{process}"' not in asked.text
    assert process_of(asked, running)[0] == "in_progress"
    asked = await does(stage, do("cleanup.process_log"))
    assert asked.results["cleanup.process_log"][1].startswith("1 processes")
    asked = await does(stage, do("process.mark", id=running))
    assert asked.results["process.mark"][0] == "no"
    assert process_of(asked, running)[0] == "in_progress", "only what has ended is dealt with"


@SOAK
async def test_nothing_is_closed_by_itself(asleep: Stage) -> None:
    stage = asleep
    await lives(stage, it=ENDS["ok"])
    process = await started(stage, "it")
    await ended(stage, process)
    for _ in range(3):
        asked = await does(stage, do("cleanup.process_log"))
    assert process_of(asked, process)[0] == "ok"


# H3


@SOAK
async def test_of_much_output_a_head_and_a_tail_are_told(asleep: Stage) -> None:
    stage = asleep
    much = "print('head'); [print('x' * 99) for _ in range(100_000)]; print('tail')"
    await lives(stage, it=python(much))
    process = await started(stage, "it")
    await ended(stage, process)
    _, result = process_of(await thought(stage), process)
    assert "head" in result
    assert "tail" in result
    assert len(result) < 6_000


@pytest.mark.parametrize("named", [True, False])
async def test_no_secret_of_the_daemon_is_told(asleep: Stage, named: bool) -> None:
    stage = asleep
    token, key = TOKEN, "sk-ant-api03-abcdefghijklmnop"
    if named:
        token = "open sesame now"
        stage.settings["console_token"] = token
    recipe = python(f"print({token!r}); print({key!r}); print('and more')")
    await live(stage, process_commands=AllowedPrograms({"it": recipe}))
    process = await started(stage, "it")
    await ended(stage, process)
    asked = await thought(stage)
    assert "and more" in process_of(asked, process)[1]
    assert token not in asked.text
    assert key not in asked.text


# H16, H17: asleep


async def test_it_sleeps_until_a_program_ends(asleep: Stage) -> None:
    stage = asleep
    gate = stage.home.parent / "gate"
    os.mkfifo(gate)
    await lives(stage, it=shell('read line < "$1"; echo "$line"', "{gate}"))
    process = await started(stage, "it", gate=str(gate))
    thinks(stage, "I sleep.", do("cycle.idle", processes=[process]))
    await tick(stage)
    paid = len(stage.model.requests)
    await passes(stage, 86_400)
    assert len(stage.model.requests) == paid
    thinks(stage, unlike(7))
    gate.write_text("open\n")
    await ended(stage, process)
    assert len(shown(stage)) == 3
    asked = shown(stage)[-1]
    assert asked.setting("why you think now") == f"processes ended: {process}"
    status, result = process_of(asked, process)
    assert (status, "open" in result) == ("ok", True)


@SOAK
async def test_what_ends_while_it_sleeps_is_told_when_it_wakes(asleep: Stage) -> None:
    stage = asleep
    await lives(stage, it=ENDS["ok"])
    await did(stage, do("process.start", name="it"), do("cycle.idle", seconds=3_600))
    [entry] = stage.entries("process-started")
    await ended(stage, entry.seq)
    assert len(shown(stage)) == 1
    [*_, line] = stage.entries("tick")
    assert (line.event.outcome, line.event.why) == ("asleep", f"process {entry.seq} (it) ended: ok")
    thinks(stage, unlike(7))
    asked = await tick(stage, 3_600)
    assert "all is well" in process_of(asked, entry.seq)[1]
    assert asked.setting("why you think now") == "the time of your sleep is over"


# Own processes


async def test_a_train_of_thought_is_a_process_too(alive: Stage) -> None:
    stage = alive
    stage.model.say(final("Because of the humidity."), asks=OPEN)
    task = do("process.start", name="think", slots={"task": "Why does the lift stick?"})
    await did(stage, task)
    asked = await thought(stage)
    assert 'name="think"' in asked.context(2)
    assert "Because of the humidity." in asked.context(2)


@SOAK
async def test_a_reading_of_the_owners_folders_is_a_process_too(asleep: Stage) -> None:
    stage = asleep
    folder = stage.home.parent / "library"
    folder.mkdir()
    (folder / "lift.md").write_text("The lift needs oil each spring.\n")
    book = stage.words / "playbooks" / "deliberation.md"
    book.write_text(book.read_text().replace("ReadThread,", "ReadThread, ReadDeeply,"))
    await live(stage, knowledge_dirs=(folder,))
    stage.model.say("In March.", asks="needs oil each spring")
    stage.model.say(final("March, then."), asks=OPEN)
    slots = {"question": "When does the lift need oil?", "path": "library/lift.md"}
    await did(stage, do("process.start", name="read", slots=slots))
    asked = await thought(stage)
    assert 'name="read"' in asked.context(2)
    assert "March, then." in asked.context(2)
    assert endings(stage) == [("answered", False)]
