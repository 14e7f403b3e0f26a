"""The first pages of the docs, followed as they stand."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests import texts
from tests.pages.following import Command, follow, printed
from tests.project_copy import copied
from tests.source import ROOT

PAGES = {
    "FIRST_PLAYBOOK.md": 4,
    "FIRST_ACTION.md": 3,
    "FIRST_PROCESS.md": 4,
    "FIRST_TOOL.md": 2,
    "FIRST_TEST.md": 1,
    "FIRST_COMMAND.md": 1,
    "FIRST_MESSAGE_COMMAND.md": 6,
    "ENGINE.md": 4,
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = copied(tmp_path)
    for owned in ("prompts", "playbooks", "actions"):
        shutil.rmtree(project / owned)
    (project / "actions").mkdir()
    texts.copied(project)
    (project / "prompts" / "standup.md").unlink(missing_ok=True)  # left by a reader of the page
    return project


def test_the_pages_do_as_they_say(project: Path) -> None:
    assert {page: follow(page, project) for page in PAGES} == PAGES


def test_the_page_of_a_cognitive_step_adds_one(project: Path) -> None:
    check = Command(line=".venv/bin/python -m daemon check", prints=())
    page = (ROOT / "docs" / "FIRST_STEP.md").read_text(encoding="utf-8")
    function, line = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    steps = project / "daemon" / "mind" / "steps.py"
    text = steps.read_text().replace("async def brainstorm(", f"{function}\n\nasync def brainstorm(", 1)
    steps.write_text(
        text.replace('    "prompts/steps/unreadable"', f'{line}    "prompts/steps/unreadable"', 1)
    )
    said = printed(check, project)
    assert "prompts/steps/urgency" in said
    assert "it is not there, and a cognitive step needs it: write it" in said
    follow("FIRST_STEP.md", project)
    assert "✗" not in printed(check, project)


def test_a_page_that_says_something_else_is_seen(project: Path) -> None:
    (project / "actions" / "broken.py").write_text("def")
    with pytest.raises(AssertionError, match="actions/broken"):
        follow("FIRST_ACTION.md", project)
