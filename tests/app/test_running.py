"""Promises of README, RUNNING.md and SETTINGS.md."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from config import APP_TOKEN_HINT, BOT_TOKEN_HINT, Settings
from daemon.app.journal_commands import backup_journal
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.reader import open_reader
from daemon.kinds import SOUL_KINDS, PromptFault
from daemon.settings.home import setting_lines, settings_table
from rehearsal import people
from tests.clock import FakeClock
from tests.source import ROOT
from tests.stories.process import into, running, start
from tests.stories.stage import ALICE, Stage, reply, staged

README = (ROOT / "README.md").read_text(encoding="utf-8")
UNIT = ROOT / "examples" / "soul.service"


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "benchmarks" / "README.md"]


def headings(page: Path) -> set[str]:
    """Return the anchors that GitHub gives a page's headings."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_page_of_settings_is_made_from_the_example() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert len([*setting_lines(example)]) == len(dataclasses.fields(Settings))
    assert (ROOT / "docs" / "SETTINGS.md").read_text(encoding="utf-8") == settings_table()


def test_the_rows_of_the_readme_stand_in_the_page_of_settings() -> None:
    rows = [line for line in section("Settings").splitlines() if line.startswith("| `")]
    assert len(rows) > 5
    assert [row for row in rows if row not in settings_table().splitlines()] == []


def test_readme_has_at_most_1200_words_and_the_changelog_forty_lines() -> None:
    assert len(README.split()) <= 1_200
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_to_files_and_headings_that_exist(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text(encoding="utf-8"))
    for path, heading in links:
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name} links to {path}"
        assert not heading or heading in headings(target), f"{page.name} links to #{heading}"


async def test_the_steps_into_slack_quote_what_is_said_then(tmp_path: Path) -> None:
    steps = section("Slack in five steps")
    async with running(tmp_path / "world", "rehearse") as (_, url):
        real = {**into(url), "ANTHROPIC_API_KEY": "sk-any", "OWNER_USER_IDS": people.ALICE.id}
        doctor = await start(tmp_path / "soul", "doctor", **real)
        printed = (await doctor.communicate())[0].decode().splitlines()
    quoted = re.findall(r"`(✓ [^`]+)`", steps)
    assert len(quoted) == 2
    assert [one for one in quoted if not any(line.startswith(one) for line in printed)] == []
    assert [*re.findall(r"begins with `(x\w+-)`", steps)] == ["xoxb-", "xapp-"]
    assert {"xoxb-" in BOT_TOKEN_HINT, "connections:write" in APP_TOKEN_HINT} == {True}
    known = {one.name.upper() for one in dataclasses.fields(Settings)}
    assert {*re.findall(r"`([A-Z]+_[A-Z_]+)`", steps)} <= known


async def test_a_backup_beside_a_daemon_that_writes_is_whole_and_goes_on_from_there(tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:

        async def write() -> None:
            for number in range(2_000):
                fault = PromptFault(name="x", text=f"{number}")
                await journal.append("soul", fault, key=f"fault:{number}", author="core")

        writing = asyncio.create_task(write())
        held: list[int] = []
        for number in range(3):
            at_least = journal.last_seq_of_all()
            out = tmp_path / f"copy{number}.db"
            said = await asyncio.to_thread(backup_journal, tmp_path / "journal.db", out)
            assert "clean" in said
            with open_reader(out, SOUL_KINDS) as copied:
                assert [entry.seq for entry in copied.all_entries()] == [
                    *range(1, copied.last_seq_of_all() + 1)
                ]
                assert at_least <= copied.last_seq_of_all() <= journal.last_seq_of_all()
                held.append(copied.last_seq_of_all())
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
    assert held == sorted(held)


async def test_what_is_restored_goes_on_where_the_copy_ends(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.wake()
        ts = await _said(stage, "Hello", "Hello, Alice.")
        await asyncio.to_thread(backup_journal, stage.home / "journal.db", tmp_path / "copy.db")
        await stage.sleep()
        for lost in stage.home.glob("journal.*"):
            lost.unlink()
        shutil.copy(tmp_path / "copy.db", stage.home / "journal.db")
        await stage.wake()
        await _said(stage, "Still there?", "Still here.", ts)
        assert await stage.answers(ALICE, ts) == ["Hello, Alice.", "Still here."]


async def _said(stage: Stage, text: str, answer: str, ts: str | None = None) -> str:
    stage.model.say(reply(answer))
    return await stage.say("alice", ALICE, text, ts)


def test_the_examples_can_be_read_and_name_what_is_there(tmp_path: Path) -> None:
    compose = yaml.safe_load((ROOT / "examples" / "compose.yaml").read_text(encoding="utf-8"))
    assert (ROOT / "examples" / compose["services"]["soul"]["build"] / "Dockerfile").exists()
    assert compose["volumes"].keys() == {"soul"}
    unit = UNIT.read_text(encoding="utf-8")
    assert re.search(r"^ExecStart=\S+/\.venv/bin/python -m daemon$", unit, re.MULTILINE)
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze here")
    here = unit.replace("/srv/soul/.venv/bin/python", "/bin/true").replace("/srv/soul", str(tmp_path))
    (tmp_path / "soul.service").write_text(here.replace("User=soul", "User=root"), encoding="utf-8")
    read = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / "soul.service")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "soul.service" not in read.stdout + read.stderr
