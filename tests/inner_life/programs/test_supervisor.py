"""Programs of the inner life: ends, environment, limits."""

from __future__ import annotations

import json
import os
import signal
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.inner_life.programs.program_folder import program_folder_of
from daemon.inner_life.programs.supervisor import ProgramLimits
from daemon.inner_life.programs.wrapper import count_tasks
from daemon.kinds import INNER
from daemon.sandbox.bubblewrap import find_bwrap
from daemon.settings.limits import AllowedProgram
from tests.inner_life.programs.workshop import Workshop, python, shell, until
from tests.soak import SOAK

MEGABYTE = 2**20


async def test_one_that_ends_well_tells_what_it_wrote(workshop: Workshop) -> None:
    ended = await workshop.run(python("print('two birds')"))
    assert (ended.name, ended.status) == ("it", "ok")
    first, *rest = ended.result.splitlines()
    assert first.startswith("It ended well. It took 0.")
    assert rest == ["stdout:", "two birds"]
    assert workshop.woken == [INNER]


@pytest.mark.parametrize(
    ("script", "status", "said"),
    [
        ("echo careful >&2", "warning", "It ended well, and complained."),
        ("echo no >&2; exit 3", "error", "It ended with exit status 3."),
        ("kill -9 $$", "error", "It was ended by SIGKILL."),
        ("true", "ok", "It wrote nothing."),
        ("printf ' \\n' >&2", "ok", "It wrote nothing."),
    ],
)
async def test_each_end_has_its_status(workshop: Workshop, script: str, status: str, said: str) -> None:
    ended = await workshop.run(shell(script))
    assert ended.status == status
    assert said in ended.result


@SOAK
async def test_one_that_takes_too_long_is_ended_with_all_that_it_started(workshop: Workshop) -> None:
    script = (
        "mkfifo held; exec 3<>held; trap '' TERM; echo begun;"
        " (setsid sh -c 'while :; do sleep 1; done') & (while :; do sleep 1; done)"
    )
    ended = await workshop.run(shell(script), bounds=ProgramLimits(seconds=0.5))
    assert ended.status == "timeout"
    assert "Its time was up" in ended.result
    assert "begun" in ended.result
    [folder] = workshop.home.iterdir()
    assert not is_held(folder)


def is_held(folder: Path) -> bool:
    """True if a process of this folder lives: each holds `held` open; pids may be of another namespace."""
    file = os.open(folder / "work" / "held", os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(file, 1) != b""
    except BlockingIOError:
        return True
    finally:
        os.close(file)


async def test_what_it_leaves_behind_ends_with_it(workshop: Workshop) -> None:
    leaves = "setsid sh -c 'touch on; sleep 100' & while [ ! -e on ]; do sleep 0.01; done"
    ended = await workshop.run(shell(f"mkfifo held; exec 3<>held; {leaves}; echo done"))
    assert (ended.status, ended.result.splitlines()[-1]) == ("ok", "done")
    [folder] = workshop.home.iterdir()
    assert not is_held(folder)


async def test_one_is_stopped_and_may_say_a_last_word(workshop: Workshop) -> None:
    script = "trap 'echo bye; exit 0' TERM; touch on; while :; do sleep 0.05; done"
    async with workshop.supervised({"it": shell(script)}):
        started = await workshop.start("it")
        await until((workshop.folder(started) / "work" / "on").exists)
        await workshop.stop(started)
        ended = await workshop.end(started)
    assert ended.status == "error"
    assert ended.result.startswith("It was stopped, as you wanted.")
    assert "stdout:\nbye" in ended.result


async def test_all_that_it_started_may_say_a_last_word(workshop: Workshop) -> None:
    script = "trap : TERM; (trap 'echo bye; exit' TERM; touch on; while :; do sleep 0.05; done) & wait; wait"
    async with workshop.supervised({"it": shell(script)}):
        started = await workshop.start("it")
        await until((workshop.folder(started) / "work" / "on").exists)
        await workshop.stop(started)
        ended = await workshop.end(started)
    assert "stdout:\nbye" in ended.result


async def test_one_that_was_stopped_before_it_began_never_begins(workshop: Workshop) -> None:
    started = await workshop.start("it")
    await workshop.stop(started)
    async with workshop.supervised({"it": shell("true")}):
        ended = await workshop.end(started)
    assert (ended.status, ended.result) == ("error", "It was stopped before it had begun.")
    assert not workshop.folder(started).exists()


async def test_one_that_somebody_else_ended_was_not_stopped(workshop: Workshop) -> None:
    async with workshop.supervised({"it": shell("touch on; sleep 100")}):
        started = await workshop.start("it")
        folder = workshop.folder(started)
        await until((folder / "work" / "on").exists)
        os.kill(int((folder / "wrapper").read_text()), signal.SIGTERM)
        ended = await workshop.end(started)
    assert ended.result.startswith("It was ended from outside.")


async def test_one_whose_keeper_is_killed_is_lost_and_gone(workshop: Workshop) -> None:
    async with workshop.supervised({"it": shell("mkfifo held; exec 3<>held; touch on; exec sleep 100")}):
        started = await workshop.start("it")
        folder = workshop.folder(started)
        await until((folder / "work" / "on").exists)
        assert is_held(folder)
        os.kill(int((folder / "wrapper").read_text()), signal.SIGKILL)
        ended = await workshop.end(started)
    assert ended.status == "offline"
    assert "nobody saw it end" in ended.result
    await until(lambda: not is_held(folder))


@pytest.mark.parametrize(
    ("recipe", "slots", "said"),
    [
        (None, {}, "there is no program 'it'; programs: none"),
        (shell("true", "{x}"), {}, "x needs a value; slots: x"),
        (shell("true"), {"x": "1"}, "there is no slot 'x'; slots: none"),
        (AllowedProgram(argv=("/nowhere/at-all",)), {}, "its program is not on this machine"),
    ],
)
async def test_what_cannot_be_run_is_not_started(
    workshop: Workshop, recipe: AllowedProgram | None, slots: dict[str, str], said: str
) -> None:
    started = await workshop.start("it", **slots)
    async with workshop.supervised({"it": recipe} if recipe else {}):
        ended = await workshop.end(started)
    assert ended.status == "error"
    assert ended.result.startswith(f"It was not started: {said}")
    assert not workshop.folder(started).exists()


async def test_one_that_is_no_program_is_an_error(workshop: Workshop, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/nowhere/at-all\n")
    broken.chmod(0o755)
    ended = await workshop.run(AllowedProgram(argv=(str(broken),)))
    assert ended.status == "error"


async def test_where_no_folder_can_be_made_it_is_given_up(workshop: Workshop) -> None:
    workshop.home.write_text("in the way")
    async with workshop.supervised({"it": shell("true")}):
        started = await workshop.start("it")
        while workshop.journal.is_pending(started.seq):
            await workshop.clock.advance(1)
        ended = await workshop.end(started)
    assert (ended.status, ended.result) == ("error", "It was not started: its folder cannot be made.")


async def test_it_is_given_nothing_of_ours(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-of-the-owner")
    kept = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(kept, True)
    code = (
        "import json, os, resource, sys;"
        "print(json.dumps([dict(os.environ), os.getcwd(), sys.stdin.read(), os.listdir('/proc/self/fd'),"
        " os.getpgid(0) == os.getpid(),"
        " *(resource.getrlimit(getattr(resource, 'RLIMIT_' + one)) for one in ('CORE', 'CPU', 'NPROC'))]))"
    )
    async with workshop.supervised({"it": python(code)}, bounds=ProgramLimits(processes=1_000, seconds=30.0)):
        started = await workshop.start("it")
        ended = await workshop.end(started)
    os.close(kept)
    work = str(workshop.folder(started) / "work")
    told = json.loads(ended.result.splitlines()[-1])
    environment, folder, heard, open_files, leads, core, seconds, tasks = told
    environment.pop("LC_CTYPE", None)  # set by Python
    environment.pop("PWD", None)  # set by bwrap
    assert environment == {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": work, "LANG": "C.UTF-8"}
    assert (folder, heard, core, seconds) == (work, "", [0, 0], [31, 31])
    assert 1_000 < tasks[0] < count_tasks() + 1_500
    assert len(open_files) == 4  # one is the listing itself
    assert leads or (await find_bwrap())[0]
    assert (workshop.home.stat().st_mode | workshop.folder(started).stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("open('much', 'wb').write(b'x' * 3_000_000)", "File too large"),
        ("bytearray(900_000_000)", "MemoryError"),
        ("[open('/dev/null') for _ in range(100)].clear()", "Too many open files"),
    ],
)
async def test_it_takes_no_more_than_its_bounds(workshop: Workshop, code: str, said: str) -> None:
    bounds = ProgramLimits(room=2 * MEGABYTE, memory=600 * MEGABYTE, files=50)
    ended = await workshop.run(python(code), bounds=bounds)
    assert ended.status == "error"
    assert said in ended.result


@SOAK
async def test_its_folder_grows_no_further_than_its_bound(workshop: Workshop) -> None:
    script = "i=0; while :; do i=$((i+1)); head -c 100000 /dev/zero > $i; sleep 0.01; done"
    ended = await workshop.run(shell(script), bounds=ProgramLimits(room=MEGABYTE))
    assert (ended.status, ended.result.splitlines()[0][:49]) == (
        "error",
        "It wrote too much into its folder, and was ended.",
    )


async def test_no_shell_ever_sees_a_value(workshop: Workshop, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = "import json, sys; print(json.dumps(sys.argv[1:]))"
    for value in (
        f"$(touch {mark})",
        f"`touch {mark}`",
        f"; touch {mark}",
        f"' && touch {mark} '",
        f'" | touch {mark} "',
        f"a b\n touch {mark}",
        "{b}",
        "*",
        "é 🛑",
    ):
        ended = await workshop.run(python(code, "{a}", "{b}"), a=value, b=value)
        assert json.loads(ended.result.splitlines()[-1]) == [value, value]
    assert not mark.exists()


async def test_it_has_no_network_where_bwrap_works(workshop: Workshop) -> None:
    tool, why = await find_bwrap()
    if not tool:
        pytest.skip(why)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        ended = await workshop.run(python(code))
    assert ended.status == "error"
    journal = workshop.home.parent / "journal.db"
    ended = await workshop.run(python(f"print(open({str(journal)!r}, 'rb').read()[:6])"))
    assert "SQLite" not in ended.result
    ended = await workshop.run(python(f"open({str(workshop.home / 'x')!r}, 'w'); open('/etc/x', 'w')"))
    assert "Read-only file system" in ended.result


async def test_many_wait_for_their_turn_and_none_is_forgotten(workshop: Workshop) -> None:
    async with workshop.supervised({"it": shell("echo $1", "{n}")}):
        started = [await workshop.start("it", n=str(n)) for n in range(12)]
        ended = [await workshop.end(one) for one in started]
    assert [one.result.splitlines()[-1] for one in ended] == [str(n) for n in range(12)]


async def test_two_journals_never_share_a_folder(workshop: Workshop) -> None:
    started = await workshop.start("it")
    other = replace(started, at=started.at + 1)
    assert program_folder_of(workshop.home, started) != program_folder_of(workshop.home, other)
