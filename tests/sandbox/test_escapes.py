"""Escape probes: all fail in each environment, and succeed unconfined."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping

import pytest
import pytest_asyncio

from daemon.sandbox.environment import CellResult, Function, Sandbox, SandboxLimits
from daemon.sandbox.monty import MontyPool
from daemon.sandbox.session import open_cpython
from tests.sandbox.probes import PROBES, Probe, escaped
from tests.sandbox.surroundings import CALLS, FOREVER, Surroundings, surroundings
from tests.sandbox.unconfined import Unconfined
from tests.soak import SOAK, but

Opener = Callable[[Mapping[str, Function], SandboxLimits], Awaitable[Sandbox]]
ENVIRONMENTS = ("cpython", "monty")
ROOMY = SandboxLimits(seconds=30, memory=256 * 2**20, output=100_000, calls=CALLS)
SHORT = SandboxLimits(seconds=0.1, memory=256 * 2**20, output=100_000, calls=CALLS)


async def ping(number: int) -> str:
    return f"pong {number}"


async def wait(seconds: float) -> None:
    await asyncio.sleep(seconds)


LONGER = {
    "time": {"a loop that swallows", "a regex"},
    "floods": {"stdout, line by line", "calls"},
    "protocol": {"no JSON", "a token", "a request to the host", "a call with one number twice"},
    "deadly": {"os._exit", "a null pointer", "closing the socket"},
}
"""Slow probes that `make test` tries."""
SOAKED = [
    probe
    for probe in PROBES
    for group, _, name in [probe.name.partition(": ")]
    if group in LONGER and name not in LONGER[group]
]
HARMLESS = {"monty": {"time: sleep", "time: a regex"}}
"""Harmless probes by environment: sleep takes no time, a pattern is linear."""


class Box:
    """Sandbox of an environment, replaced when lost."""

    def __init__(self, opener: Opener, around: Surroundings, harmless: Collection[str] = ()) -> None:
        self.harmless = harmless
        self._opener = opener
        self._around = around
        self._sandbox: Sandbox | None = None

    async def run(self, probe: Probe) -> CellResult:
        if not probe.slow:
            return await (await self._kept()).execute_code(probe.code)
        sandbox = await self._open(SHORT)
        try:
            return await sandbox.execute_code(probe.code)
        finally:
            await sandbox.close()

    async def works(self) -> bool:
        """True if a cell runs, in a new sandbox if necessary."""
        for _ in range(2):
            execution = await (await self._kept()).execute_code("6 * 7")
            if not execution.lost:
                return execution.value == 42 and not execution.error
            await self.close()
        return False

    async def close(self) -> None:
        if self._sandbox is not None:
            await self._sandbox.close()
            self._sandbox = None

    async def _kept(self) -> Sandbox:
        if self._sandbox is None:
            self._sandbox = await self._open(ROOMY)
        return self._sandbox

    async def _open(self, bounds: SandboxLimits) -> Sandbox:
        sandbox = await self._opener({"ping": ping, "wait": wait}, bounds)
        await sandbox.bind(**self._around.names(FOREVER))
        return sandbox


@pytest.fixture(scope="module")
def around() -> Iterator[Surroundings]:
    with surroundings() as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=ENVIRONMENTS)
async def box(request: pytest.FixtureRequest, around: Surroundings) -> AsyncIterator[Box]:
    async with MontyPool() as pool:
        made = Box(
            open_cpython if request.param == "cpython" else pool.open_monty,
            around,
            HARMLESS.get(request.param, ()),
        )
        yield made
        await made.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("probe", but(PROBES, SOAKED), ids=lambda probe: probe.name)
async def test_it_does_not_get_out(box: Box, around: Surroundings, probe: Probe) -> None:
    before = around.state()
    execution = await box.run(probe)
    assert not escaped(execution) or probe.name in box.harmless, execution
    assert execution.error or not execution.lost
    assert around.state() == before
    assert await box.works()


@SOAK
@pytest.mark.parametrize("group", sorted({probe.name.partition(":")[0] for probe in PROBES}))
def test_unconfined_each_succeeds(group: str) -> None:
    failed = {}
    with surroundings() as around:
        child = Unconfined(around.names(1))
        for probe in PROBES:
            if not probe.name.startswith(group):
                continue
            execution = child.execute_code(probe.code)
            succeeded = execution is None if probe.deadly else execution is not None and escaped(execution)
            if not succeeded:
                failed[probe.name] = execution
            if execution is None:
                child.close()
                child = Unconfined(around.names(1))
        child.close()
    assert failed == {}


def test_there_are_enough_of_them() -> None:
    assert len({probe.name for probe in PROBES}) == len(PROBES) >= 60
