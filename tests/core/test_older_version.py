"""Waits of an older version, continued without loss or duplicates."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from daemon.app.journal_commands import verify_journal
from daemon.engine.journal.reader import JournalReader, open_reader
from daemon.engine.kinds import (
    AttemptFailed,
    ExecutionRestarted,
    OutageBegan,
    ThreadSpawned,
    TurnEnded,
    WaitBegan,
)
from daemon.kinds import SOUL_KINDS, QuestionAsked, SoulTurnBegan
from tests.core.file_world import FileSlack
from tests.core.harness import CoreTrial
from tests.core.older_version import AFTER, JOURNAL, SLACK
from tests.core.worker_run import open_home
from tests.crashes.json_lines import read_lines
from tests.engine.golden import restore

ENTRIES = [json.loads(line) for line in JOURNAL.read_text(encoding="utf-8").splitlines()]
REMEDY = "an older journal does not go on: keep the names of kinds, fields, keys and steps that it holds"
CONVERSATIONS = ("ended", "asked", "approved", "open", "away")


@pytest.fixture
def home() -> Iterator[Path]:
    """Yield the older version's home."""
    with open_home("upheld") as folder:
        (folder / "journal.db").unlink()
        asyncio.run(restore(folder / "journal.db", SOUL_KINDS, ENTRIES))
        (folder / "slack.jsonl").write_text(SLACK.read_text(encoding="utf-8"))
        yield folder


def threads(journal: JournalReader) -> dict[str, str]:
    opened = {name: journal.get(f"thread:T:{name}:1") for name in CONVERSATIONS}
    return {name: entry.thread for name, entry in opened.items() if entry}


def read_in(home: Path, thread: str) -> Sequence[str]:
    return [one["text"] for one in FileSlack(home).messages() if one["thread"] == thread]


def test_the_daemon_of_today_finds_all_that_waits_and_nothing_amiss(home: Path) -> None:
    with open_reader(home / "journal.db", SOUL_KINDS) as journal:
        assert not verify_journal(journal).violations, REMEDY
        there = threads(journal)
        assert {one.thread for one in journal.pending_entries(QuestionAsked)} == {
            there["asked"],
            there["approved"],
        }
        assert [one.thread for one in journal.pending_entries(OutageBegan)] == [there["away"]]
        assert [one.event.thread for one in journal.pending_entries(ThreadSpawned)] == [f"{there['open']}.b"]
        assert f"{there['open']}.b" in {one.thread for one in journal.pending_entries(WaitBegan)}
        assert [one.thread for one in journal.entries_of_kind(TurnEnded)].count(there["ended"]) == 1


def test_all_that_waited_goes_on_and_ends_in_the_daemon_of_today(home: Path) -> None:
    assert CoreTrial(home, AFTER).run_phases(range(2, AFTER.phases)) is None
    with open_reader(home / "journal.db", SOUL_KINDS) as journal:
        there = threads(journal)
        new = [one.event for one in journal.entries_since(len(ENTRIES), 100_000)]
        restarted = {one.thread for one in journal.entries_of_kind(ExecutionRestarted)}
        left = journal.pending_entries(QuestionAsked, OutageBegan, ThreadSpawned, SoulTurnBegan)
        assert not verify_journal(journal).violations
    assert not left, REMEDY
    assert not [one for one in new if isinstance(one, AttemptFailed)], REMEDY
    assert restarted <= {there["approved"]}, "an action that is written otherwise now is agreed to once more"
    assert read_in(home, there["ended"]) == ["You said: hello"]
    assert read_in(home, there["asked"]) == ["Which one?", "So: the first"]
    assert read_in(home, there["open"]) == ["A alone."]
    assert read_in(home, there["away"])[1:] == ["You said: the storm?"]
    assert read_lines(home / "effects.jsonl") == ["published"]
    assert read_in(home, there["approved"])[0].startswith("<@U9>, may I do this? *Publish*")
