"""The password of the database: where two daemons that work, fail and end never show it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from rehearsal.people import SOUL
from tests.attention import until
from tests.cluster.daemons import Machine, cluster_env, machine
from tests.cluster.proxy import TcpProxy
from tests.postgres import NEEDS_POSTGRES, log_url, postgres_server
from tests.stories.process import around, ended, start
from tests.tools.connected import RAW

__all__ = ["log_url", "postgres_server"]
pytestmark = NEEDS_POSTGRES

PASSWORD, ENCODED = "open@sesame/7", "open%40sesame%2F7"
PAGES = ("state", "health", "tools", "threads", "costs", "people", "journal?since=0&limit=100")


def with_password(url: str) -> str:
    """Return the URL with a password, which the server of the tests does not ask for."""
    place = urlsplit(url).netloc
    return url.replace(place, f"soul:{ENCODED}@{place.rpartition('@')[2]}", 1)


def children(pid: int) -> Iterator[Path]:
    """Yield the folders in /proc of all processes that this one has started."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
            yield stat.parent
            yield from children(int(stat.parent.name))


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def shows(text: str | bytes) -> bool:
    found = text.encode() if isinstance(text, str) else text
    return any(one.encode() in found for one in (PASSWORD, ENCODED))


async def seen_on(daemon: Machine) -> str:
    """Return what anybody can read at the daemon's port."""
    texts = [await daemon.text(f"/console/{page}") for page in PAGES[:-1]]
    return "".join([*texts, await daemon.text("/healthz"), await daemon.text("/metrics")])


async def test_the_password_of_the_database_is_nowhere(tmp_path: Path, log_url: str) -> None:
    servers = tmp_path / "mcp.json"
    raw = {"command": sys.executable, "args": ["-I", "-S", "-B", str(RAW)]}
    servers.write_text(json.dumps({"mcpServers": {"raw": raw}}))
    more = {"MCP_CONFIG": str(servers), "LOG_LEVEL": "debug"}
    said = list[str]()
    with TcpProxy(with_password(log_url)) as proxy:
        async with (
            around(tmp_path) as place,
            machine(tmp_path, place, proxy.url, "first", **more) as first,
            machine(tmp_path, place, with_password(log_url), "second", **more) as second,
        ):
            ts = await place.say(f"<@{SOUL.user}> Tell me about tea, please.")
            await until(lambda: place.texts(ts) and not place.working)
            pid = first.process.pid
            await until(lambda: any(children(pid)))  # the tool server
            programs = [*children(pid)]
            assert not shows(json.dumps([*place.model.requests]))
            assert not any(shows((one / "environ").read_bytes()) for one in programs)
            assert not any(shows((one / "cmdline").read_bytes()) for one in programs)
            assert not shows(await seen_on(first) + await seen_on(second))
            env = cluster_env(place, with_password(log_url), "second", **more)
            for command in (["doctor"], ["verify"], ["trace", "--full"], ["export"]):
                told = await (await start(tmp_path / "second", *command, **env)).communicate()
                said += [part.decode() for part in told]
            proxy.refuse()
            await second.wait_until_at_work()
            assert not shows(await seen_on(first))
            proxy.mend()
            said.append((await ended(first.process))[1])
            second.process.terminate()
            status, text = await ended(second.process)
            assert status == 0
            said.append(text)
    assert len(said) == 10
    assert not [one for one in said if shows(one)]
    assert not [path for path in files_below(tmp_path) if shows(path.read_bytes())]
    with psycopg.connect(log_url) as connection:
        for table in ("entry", "soul_file", "soul_daemon"):
            rows = connection.execute(f"select t::text from {table} t".encode()).fetchall()
            assert not any(shows(text) for (text,) in rows)
