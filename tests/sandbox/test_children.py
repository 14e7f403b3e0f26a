"""Child processes: started in advance, ended when unused."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys

from daemon.sandbox.session import ROOT, SpareChildren, describe_confinement
from tests.attention import PATIENCE
from tests.sandbox.opened import AMPLE, children, descriptors


async def test_a_spare_is_used_once_and_one_that_has_died_not_at_all() -> None:
    before, others = descriptors(), {*children()}
    async with SpareChildren(AMPLE) as spares:
        first = await spares.open({})
        assert (await first.execute_code("x = 1\nx")).value == 1
        second = await spares.open({})
        assert "NameError" in (await second.execute_code("x")).error
        await first.close()
        await second.close()
        [spare] = {*children()} - others
        os.kill(int(spare), signal.SIGKILL)
        third = await spares.open({})
        assert (await third.execute_code("1")).value == 1
        await third.close()
    assert children() == []
    assert descriptors() == before


async def test_no_more_are_open_at_once_than_may_be() -> None:
    async with SpareChildren(AMPLE, most=2) as spares:
        came = await asyncio.gather(*[spares.open({}) for _ in range(3)], return_exceptions=True)
        [refused] = [one for one in came if isinstance(one, BaseException)]
        assert str(refused) == "2 CPython sandboxes are open, as many as may be at once."
        first, second = [one for one in came if not isinstance(one, BaseException)]
        await first.close()
        third = await spares.open({})
        assert (await third.execute_code("1")).value == 1
        await third.close()
        await second.close()
    assert children() == []


async def test_what_confines_it_can_be_asked() -> None:
    assert (await describe_confinement()).startswith("seccomp")
    assert children() == []


def test_a_child_dies_with_its_host() -> None:
    program = """
import asyncio, os
from daemon.sandbox.environment import SandboxLimits
from daemon.sandbox.session import open_cpython
async def ready(): print(child, flush=True)
async def main():
    global child
    sandbox = await open_cpython({"ready": ready}, SandboxLimits(seconds=600))
    child = open(f"/proc/self/task/{os.getpid()}/children").read().split()[0]
    await sandbox.execute_code("import re\\nready()\\nre.match('(a+)+$', 'a' * 60 + '!')")
asyncio.run(main())"""
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        child = os.pidfd_open(int(host.stdout.readline()))
        host.kill()
    assert select.select([child], [], [], PATIENCE)[0]
    os.close(child)
