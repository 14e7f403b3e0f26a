"""Your first playbook, action, process and test: the pages are followed as they stand, one after another."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import texts
from tests.core.mutants import copied
from tests.pages.following import follow

PAGES = {
    "FIRST_PLAYBOOK.md": 4,
    "FIRST_ACTION.md": 3,
    "FIRST_PROCESS.md": 4,
    "FIRST_TEST.md": 1,
    "FIRST_COMMAND.md": 3,
    "FIRST_MESSAGE_COMMAND.md": 6,
    "ENGINE.md": 4,
}
"""In the order in which one reads them, with how many commands each has."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project, with the texts of the tests."""
    project = copied(tmp_path)
    for owned in ("prompts", "playbooks", "actions"):
        shutil.rmtree(project / owned)
    (project / "actions").mkdir()
    texts.copied(project)
    (project / "prompts" / "standup.md").unlink(missing_ok=True)  # of whoever followed the page here
    return project


def test_the_pages_do_as_they_say(project: Path) -> None:
    assert {page: follow(page, project) for page in PAGES} == PAGES


def test_a_page_that_says_something_else_is_seen(project: Path) -> None:
    (project / "actions" / "broken.py").write_text("def")
    with pytest.raises(AssertionError, match="actions/broken"):
        follow("FIRST_ACTION.md", project)
