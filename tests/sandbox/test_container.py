"""examples/sandbox_container.py on loopback, with a fake `docker`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.app.doctor import examine_sandbox
from daemon.sandbox.environment import SandboxError
from daemon.sandbox.session import SandboxFactory
from tests.sandbox.opened import children
from tests.source import ROOT
from tests.stories.process import ended, start
from tests.stories.stage import Stage, staged
from tests.stories.test_reading import cell
from tests.stories.test_terminal import QUESTION, book

NAME = "examples.sandbox_container.ContainerSandbox"
DOCKER = f"""#!{sys.executable} -I
import os, pathlib, signal, sys
pids = pathlib.Path(__file__).parent
command, *args = sys.argv[1:]
with open(pids / "calls", "a") as calls:
    print(command, *args, file=calls)
if command == "rm":
    pid = pids / args[-1]
    if pid.exists():
        try:
            os.kill(int(pid.read_text()), signal.SIGKILL)
        except ProcessLookupError:
            pass
        pid.unlink()
    sys.exit()
if (pids / "broken").exists():
    sys.exit("Unable to find image")
(pids / args[args.index("--name") + 1]).write_text(str(os.getpid()))
program = args[args.index("python:3.11-slim") + 1 :]
program[program.index("/soul")] = {str(ROOT)!r}
env = dict(args[at + 1].split("=", 1) for at, one in enumerate(args) if one == "--env")
os.execve({sys.executable!r}, ["python", *program[1:]], env)
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the fake, first on PATH; it holds process ids."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "docker").write_text(DOCKER)
    (folder / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def left(docker: Path) -> list[str]:
    return [path.name for path in docker.iterdir() if path.name.startswith("soul-")]


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


async def test_cells_run_and_call_in_the_container(docker: Path) -> None:
    async def double(number: int) -> int:
        return 2 * number

    async with SandboxFactory(NAME) as sandboxes:
        opened = await sandboxes.open({"double": double})
        await opened.bind(n=3)
        ran = await opened.execute_code("print('twice')\ndouble(n)")
        assert (ran.stdout, ran.value, ran.error) == ("twice\n", 6, "")
        assert "PermissionError" in (await opened.execute_code("open('/etc/hostname')")).error
        await opened.close()
    assert left(docker) == []
    assert children() == []
    calls = (docker / "calls").read_text()
    assert "--read-only --cap-drop ALL" in calls
    assert f"{ROOT}/daemon/sandbox:/soul/daemon/sandbox:ro" in calls
    assert "PYTHONHASHSEED=0" in calls


async def test_a_cell_that_computes_for_ever_ends_with_its_container(docker: Path) -> None:
    async with SandboxFactory(NAME) as sandboxes:
        opened = await sandboxes.open({})
        running = asyncio.create_task(opened.execute_code("while True: pass"))
        await asyncio.wait([running], timeout=0.2)
        await opened.close()
        assert (await running).lost
    assert children() == []


async def test_a_container_that_does_not_start_is_said_to_be(docker: Path) -> None:
    (docker / "broken").touch()
    async with SandboxFactory(NAME) as sandboxes:
        with pytest.raises(SandboxError, match=r"The container did not call \(`docker run` ended with 1\)"):
            await sandboxes.open({})
    found = await examine_sandbox(NAME)
    assert (found.ok, "did not call" in found.said) == (False, True)


async def test_where_there_is_no_docker_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with SandboxFactory(NAME) as sandboxes:
        with pytest.raises(SandboxError, match="`docker` cannot be started: No such file"):
            await sandboxes.open({})


async def test_the_doctor_runs_a_cell_in_it(docker: Path) -> None:
    found = await examine_sandbox(NAME)
    assert (found.ok, NAME in found.said) == (True, True)


async def test_a_whole_reading_runs_in_it_by_the_setting(stage: Stage, docker: Path, tmp_path: Path) -> None:
    stage.model.say(cell("hits = [l for l in context.splitlines() if 'magic' in l]\nllm_query(hits[0])"))
    stage.model.say("It is 77.", asks="magic number is 77")
    stage.model.say(cell("FINAL(len(hits))"))
    process = await start(
        *(tmp_path / "home", "read", str(book(stage)), "-q", QUESTION),
        ANTHROPIC_API_KEY="any",
        ANTHROPIC_BASE_URL=stage.url,
        RLM_SANDBOX=NAME,
        PATH=os.environ["PATH"],
    )
    assert process.stdout
    out = (await process.stdout.read()).decode()
    status, err = await ended(process)
    assert (status, out) == (0, "1\n"), err
    assert "It is 77." in stage.asked()[-1]
    assert (docker / "calls").read_text().count("run --rm") == 1


async def test_a_name_of_no_class_ends_the_start(stage: Stage, tmp_path: Path) -> None:
    process = await start(tmp_path / "home", RLM_SANDBOX="examples.sandbox_container.Nothing")
    status, err = await ended(process)
    assert status == 78
    assert "examples.sandbox_container is there, but has no Nothing in it" in err
