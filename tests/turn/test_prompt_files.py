"""The owner's playbooks: reloaded, kept if broken, recorded."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from daemon.app.discovery import PROCESSES, prompt_catalogue
from daemon.engine.journal.journal import Journal
from daemon.engine.journal.writer import JournalWriter
from daemon.kinds import SOUL_KINDS, PromptFault
from daemon.mind.steps import STEP_TEXTS
from daemon.prompts.prompt_catalogue import PLAIN, WORDING, PromptCatalogue
from daemon.settings.parse import ConfigError
from daemon.turn.prompt_files import PromptFiles
from tests.clock import FakeClock
from tests.texts import copied

MENDING = "---\ngoal: Mend it.\nactions: [Respond]\n---\nBe kind.\n"
NAME = "playbooks/mending"
SHIPPED = prompt_catalogue(PROCESSES.values(), STEP_TEXTS)


@pytest.fixture
def words(tmp_path: Path) -> Path:
    copied(tmp_path)
    (tmp_path / f"{NAME}.md").write_text(MENDING)
    return tmp_path


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        yield journal


async def read(texts: PromptFiles, name: str = NAME) -> str:
    return texts.text_entry(texts.hashes_of_set(await texts.current_set())[name]).event.text


def faults(journal: Journal) -> list[str]:
    return [entry.event.text for entry in journal.entries_of_kind(PromptFault)]


async def test_every_playbook_that_is_there_is_a_text(words: Path, journal: Journal) -> None:
    texts = PromptFiles(words, journal, SHIPPED)
    assert await read(texts) == MENDING
    assert {NAME, "playbooks/expert", "playbooks/problem_solving"} <= texts.hashes_of_set(
        await texts.current_set()
    ).keys()


class Counting(JournalWriter):
    waiting = 0
    most = 0

    def submit(self, *args: Any, **more: Any) -> asyncio.Future[int]:
        written = super().submit(*args, **more)
        written.add_done_callback(self._has_ended)
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        return written

    def _has_ended(self, _: object) -> None:
        self.waiting -= 1


async def test_all_are_taken_up_together(words: Path, tmp_path: Path) -> None:
    async with Journal(tmp_path / "new.db", FakeClock(), SOUL_KINDS, Counting) as journal:
        texts = PromptFiles(words, journal, SHIPPED)
        known = texts.hashes_of_set(await texts.current_set())
        assert isinstance(journal._writer, Counting)
        assert journal._writer.most > len(known) / 2


async def test_a_changed_playbook_and_a_new_one_are_read(words: Path, journal: Journal) -> None:
    texts = PromptFiles(words, journal, SHIPPED)
    (words / f"{NAME}.md").write_text(MENDING.replace("kind", "brief"))
    (words / "playbooks" / "later.md").write_text(MENDING)
    assert "Be brief." in await read(texts)
    assert await read(texts, "playbooks/later") == MENDING


async def test_a_broken_playbook_keeps_its_last_good_version_and_that_is_said_once(
    words: Path, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    texts = PromptFiles(words, journal, SHIPPED)
    (words / f"{NAME}.md").write_text(MENDING.replace("goal", "gaol"))
    assert await read(texts) == await read(texts) == MENDING
    [said] = faults(journal)
    assert "mending.md cannot be used: `goal` is missing" in said
    assert caplog.messages == [f"{said} The last good version stays in use."]


async def test_a_playbook_that_is_gone_stays_in_use_and_that_is_said(words: Path, journal: Journal) -> None:
    texts = PromptFiles(words, journal, SHIPPED)
    (words / f"{NAME}.md").unlink()
    assert await read(texts) == await read(texts) == MENDING
    [said] = faults(journal)
    assert "mending.md cannot be used: it is not there: put it back, or start the daemon anew" in said


async def test_a_new_playbook_that_is_broken_is_no_text_until_it_is_mended(
    words: Path, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    texts = PromptFiles(words, journal, SHIPPED)
    (words / "playbooks" / "later.md").write_text("Be kind.")
    assert "playbooks/later" not in texts.hashes_of_set(await texts.current_set())
    [said] = faults(journal)
    assert caplog.messages == [f"{said} It is left out until then."]
    (words / "playbooks" / "later.md").write_text(MENDING)
    assert await read(texts, "playbooks/later") == MENDING


async def test_a_text_that_has_a_default_needs_no_file(words: Path, journal: Journal) -> None:
    name = "prompts/when/mending"
    (words / "prompts" / "when").mkdir(exist_ok=True)
    usual = {name: "When you meet someone."}
    texts = PromptFiles(words, journal, PromptCatalogue(texts={**WORDING, name: PLAIN}, defaults=usual))
    assert await read(texts, name) == "When you meet someone."
    (words / f"{name}.md").write_text("When they say hello.")
    assert await read(texts, name) == "When they say hello."
    (words / f"{name}.md").unlink()
    assert await read(texts, name) == "When you meet someone."


async def test_an_unreadable_text_that_was_gone_meanwhile_is_said_again(
    words: Path, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    name = "prompts/when/mending"
    file = words / f"{name}.md"
    file.parent.mkdir(exist_ok=True)
    usual = {name: "When you meet someone."}
    texts = PromptFiles(words, journal, PromptCatalogue(texts={**WORDING, name: PLAIN}, defaults=usual))
    file.write_bytes(b"\xff")
    await read(texts, name)
    file.unlink()
    await read(texts, name)
    await asyncio.sleep(0)
    file.write_bytes(b"\xff")
    assert await read(texts, name) == await read(texts, name) == "When you meet someone."
    assert len(caplog.messages) == 2


async def test_a_set_that_is_damaged_in_the_journal_stops_nobody(words: Path, tmp_path: Path) -> None:
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        await PromptFiles(words, journal, SHIPPED).current_set()
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db, db:
        db.execute("update entry set body = '{' where kind = 'texts'")
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        assert await read(PromptFiles(words, journal, SHIPPED)) == MENDING
        assert "damaged" in journal.damage or "cannot be read" in journal.damage


@pytest.mark.parametrize("name", ["mending", "expert"])
def test_with_a_broken_playbook_nothing_starts(words: Path, journal: Journal, name: str) -> None:
    (words / "playbooks" / f"{name}.md").write_text("Be kind.")
    with pytest.raises(ConfigError, match=rf"{name}\.md cannot be used: it does not begin with front matter"):
        PromptFiles(words, journal, SHIPPED)


def test_without_a_playbook_that_the_soul_needs_nothing_starts(words: Path, journal: Journal) -> None:
    (words / "playbooks" / "expert.md").unlink()
    with pytest.raises(ConfigError, match=r"expert\.md cannot be used: it is not there: put it back"):
        PromptFiles(words, journal, SHIPPED)
