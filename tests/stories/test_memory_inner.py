"""Inner records about people, shown and forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.app.journal_commands import verify_journal
from tests.stories.choosing import pressed
from tests.stories.stage import ALICE, BOB, Stage, reply, staged
from tests.stories.test_forgetting import traces, until_told
from tests.stories.test_memory_commands import listed
from tests.stories.ticking import do, live, thinks, tick


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


KEPT, BETTER = "keeps beehives behind the windmill", "keeps beehives beside the windmill"


async def test_a_diary_entry_about_alice_is_listed_and_forgotten_with_all_its_versions(stage: Stage) -> None:
    await live(stage)
    stage.model.say(reply("I see."))
    await stage.say("alice", ALICE, "My bees are behind the windmill.")
    [said] = [entry.seq for entry in stage.entries("message")]
    thinks(stage, "Alice wrote.", do("notes.read", ids=[said]))
    await tick(stage)
    thinks(
        stage,
        "She has bees.",
        do("diary.add", text=f"Alice {KEPT}."),
        do("diary.add", text="A day like any."),
    )
    await tick(stage)
    diary = [entry.seq for entry in stage.entries("command") if entry.event.name == "diary.add"]
    thinks(stage, "Beside, not behind.", do("diary.change", id=diary[0], text=f"Alice {BETTER}."))
    await tick(stage)
    shown = await listed(stage)
    assert BETTER in shown
    assert KEPT not in shown
    stage.model.say(reply("Hello."))
    assert BETTER not in await listed(stage, "bob", BOB)
    number = next(line for line in shown.splitlines() if BETTER in line).split("*")[1].rstrip(".")
    await stage.say("alice", ALICE, f"!forget {number}")
    await pressed(stage, "alice", "Forget it")
    await until_told(stage)
    assert traces(stage, BETTER, f"Alice {KEPT}") == []
    assert BETTER not in await listed(stage)
    assert not verify_journal(stage.soul.journal).violations
