"""Digests that a daemon states, and the sentences for machines on which they differ."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from config import Settings
from daemon.app.stated_digests import LOOK_SECONDS, MachineDigests
from daemon.cluster.daemon_facts import DaemonRow
from daemon.cluster.differences import find_differences
from tests.clock import FakeClock

KEYS = {"anthropic_api_key": "any", "slack_bot_token": "xoxb-1", "slack_app_token": "xapp-1"}


class Owner:
    """A machine with the owner's files."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        for name in ("prompts/inner", "playbooks", "actions", "notes"):
            (folder / name).mkdir(parents=True)
        self.write("soul.md", "You are Claudius.")
        self.write("prompts/inner/tick.md", "Think.")
        self.write("actions/bake.py", "x = 1")
        self.write("mcp.json", "{}")
        self.write("notes/bread.md", "Flour.")
        mine = {"soul_home": folder / "var", "knowledge_dirs": (folder / "notes",), "machine": folder.name}
        self.settings = Settings(**{**KEYS, **mine, **settings})
        self.digests = MachineDigests(self.settings, folder)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def row(self) -> DaemonRow:
        return DaemonRow(
            machine=self.folder.name,
            digests=self.digests.make(),
            worker_id=1,
            sockets=0,
            clock_offset=0.0,
            silent=0.0,
        )


def test_machines_with_the_same_files_differ_in_nothing(tmp_path: Path) -> None:
    one, other = Owner(tmp_path / "a", port=1), Owner(tmp_path / "b", port=2, log_format="json")
    assert [*find_differences([one.row(), other.row()])] == []


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("soul.md", "an owner's text"),
        ("prompts/inner/tick.md", "an owner's text"),
        ("playbooks/new.md", "an owner's text"),
        ("actions/bake.py", "actions/"),
        ("mcp.json", "mcp.json"),
        ("notes/bread.md", "the content of KNOWLEDGE_DIRS"),
        ("notes/more.md", "the content of KNOWLEDGE_DIRS"),
    ],
)
def test_a_file_that_differs_is_named(tmp_path: Path, file: str, what: str) -> None:
    one, other = Owner(tmp_path / "a"), Owner(tmp_path / "b")
    one.row(), other.row()
    other.write(file, "Other.")
    [sentence] = find_differences([one.row(), other.row()])
    assert sentence.startswith(f"{what} differs between a and b")


def test_a_setting_that_differs_is_named_and_no_secret_is_covered(tmp_path: Path) -> None:
    one, other = Owner(tmp_path / "a"), Owner(tmp_path / "b", budget_daily_usd=9.0)
    [sentence] = find_differences([one.row(), other.row()])
    assert sentence.startswith("a setting differs between a and b")
    secret = Owner(tmp_path / "c", anthropic_api_key="another")
    assert secret.digests.make() == one.digests.make()


async def test_a_change_while_the_daemon_runs_is_stated(tmp_path: Path) -> None:
    owner, clock = Owner(tmp_path / "a"), FakeClock()
    stated = asyncio.Queue[Mapping[str, str]]()
    stating = asyncio.create_task(owner.digests.keep_stated(stated.put_nowait, clock))
    async with asyncio.timeout(10):
        before = await stated.get()
        owner.write("soul.md", "You are Claudia.")
        while stated.empty():
            await clock.advance(LOOK_SECONDS)
    after = stated.get_nowait()
    stating.cancel()
    assert {name for name in before if before[name] != after[name]} == {"an owner's text"}
