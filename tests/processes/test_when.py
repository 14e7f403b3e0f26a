"""Transitions: each process's condition, or the owner's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.app.discovery import PROCESSES
from daemon.app.wiring import offered_processes
from tests.stories.stage import ALICE, Stage, staged

MENDING = "---\ngoal: Mend it.\nactions: [Respond]\nwhen: something is broken.\n---\n"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


def test_those_are_offered_that_say_when_and_the_first_is_where_a_thread_begins() -> None:
    found = [*offered_processes(PROCESSES, [])]
    assert found == ["conversation", *sorted(name for name in found if name != "conversation")]
    assert {*found} == {name for name, process in PROCESSES.items() if process.when}
    assert {"closing", "deep_reading", "deliberation", "problem_solving"} <= {*found}
    assert offered_processes(PROCESSES, ["mending", "problem_solving"])["problem_solving"] == (
        "playbooks/problem_solving",
        "prompts/when/problem_solving",
    )
    assert "mending" in offered_processes(PROCESSES, ["mending"])


async def test_what_a_process_says_is_a_text_that_the_owner_may_override(stage: Stage) -> None:
    await stage.wake()
    when = stage.words / "prompts" / "when" / "closing.md"
    ts = await stage.say("alice", ALICE, "Hello")
    assert "closing: they are saying goodbye." in stage.told()[-1]
    when.parent.mkdir()
    when.write_text("$name has heard enough.\n")
    await stage.say("alice", ALICE, "Hello again", ts)
    assert "closing: Claudius has heard enough." in stage.told()[-1]
    when.unlink()
    await stage.say("alice", ALICE, "Still there?", ts)
    assert "closing: they are saying goodbye." in stage.told()[-1]
    texts = [entry.event for entry in stage.entries("text")]
    said = [text.text.strip() for text in texts if text.name == "prompts/when/closing"]
    assert said == ["they are saying goodbye.", "$name has heard enough."], "each is recorded"


async def test_a_playbook_says_when_in_its_front_matter(stage: Stage) -> None:
    (stage.words / "playbooks" / "mending.md").write_text(MENDING)
    await stage.wake(ism_enabled=True)
    await stage.say("alice", ALICE, "Hello")
    asked = stage.told()[-1]
    assert "mending: something is broken." in asked
    assert "problem_solving: they want something worked out" in asked
    assert "that you are on it." in asked
