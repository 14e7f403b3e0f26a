"""Research: its arguments and its results."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from daemon.actions.action import RunContext
from daemon.actions.function import ActionDependencies
from daemon.knowledge.library import FolderLibrary
from daemon.playbooks.built_in import research


class Words:
    def label(self, meaning: str) -> str:
        return meaning

    def is_new(self, text: str) -> bool:
        return bool(text)


RUN = cast(RunContext, Words())


async def test_it_reads_lines_of_the_owners_files(tmp_path: Path) -> None:
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "office.md").write_text("The door code changes on Mondays.\n")
    with FolderLibrary([tmp_path / "handbook"]) as library:
        action = research.definition(ActionDependencies(library=library))
        assert action.args
        found = await action.perform(RUN, action.args(query="when does the code change?"))
        nothing = await action.perform(RUN, action.args(query="../../etc/passwd"))
    assert found == "handbook/office.md:1: The door code changes on Mondays."
    assert nothing == "nothing found"


async def test_it_names_what_it_cannot_look_into(tmp_path: Path) -> None:
    handbook = tmp_path / "handbook"
    handbook.mkdir()
    (handbook / "office.md").write_text("The door code changes on Mondays.\n")
    (handbook / "visitors.log").write_text("somebody came\n" * 100_000)
    (handbook / "plan.pdf").write_bytes(b"%PDF-1.7\n\0")
    (handbook / "empty.md").write_text("")
    with FolderLibrary([handbook]) as library:
        action = research.definition(ActionDependencies(library=library))
        assert action.args
        found = await action.perform(RUN, action.args(query="door code"))
        named = await action.perform(RUN, action.args(query="the code of the visitors"))
        nothing = await action.perform(RUN, action.args(query="zeppelin"))
    assert found == "handbook/office.md:1: The door code changes on Mondays."
    assert str(named).endswith("not searched: handbook/visitors.log")
    assert nothing == "nothing found\nnot searched: handbook/plan.pdf, handbook/visitors.log"


def test_it_is_an_effect_that_may_be_repeated() -> None:
    action = research.definition(ActionDependencies())
    assert action.effect
    assert action.repeatable
