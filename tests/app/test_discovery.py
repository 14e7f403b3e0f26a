"""Discovery: processes and commands are found by their files, and given the things that they name."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest

from daemon.actions.action import ActionArguments, ActionDefinition
from daemon.actions.registry import ActionRegistry
from daemon.app.discovery import (
    PROCESSES,
    CommandDependencies,
    PlaceholderDependency,
    ProcessDependencies,
    bind_processes,
    find_commands,
    find_processes,
    make_commands,
)
from daemon.inner_life.commands.command import command
from daemon.inner_life.recipients import RecipientDirectory
from daemon.inner_life.tick_log import InnerLifeState
from daemon.memory import WorkingMemory
from daemon.ports import Library
from daemon.process import MentalProcess, Turn
from tests.pages.following import follow
from tests.project_copy import copied

COMMANDS = """
from daemon.inner_life.commands.command import command

def made(recipes):
    return ()

COMMANDS = (made,)
"""
NEEDY = """
from daemon.process import MentalProcess

async def run(turn, moon):
    return turn.memory

PROCESS = MentalProcess(name="needy", run=run, when="they ask.")
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], str]:
    """Make a package of these files; return its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def made(files: Mapping[str, str]) -> str:
        name = f"found_{tmp_path.name.replace('-', '_')}"
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / f"{file}.py").write_text(text)
        return name

    return made


def dependencies(library: Library | None = None) -> CommandDependencies:
    return CommandDependencies(
        state=cast(InnerLifeState, PlaceholderDependency()),
        reach=cast(RecipientDirectory, PlaceholderDependency()),
        library=library,
    )


def test_the_page_of_a_first_command_adds_one_file(tmp_path: Path) -> None:
    project = copied(tmp_path)
    shutil.rmtree(project / "actions")
    assert follow("FIRST_COMMAND.md", project) == 1


def test_commands_are_found_in_each_file_but_the_one_that_defines_what_a_command_is(
    package: Callable[[Mapping[str, str]], str],
) -> None:
    found = find_commands(package({"command": "", "week_commands": COMMANDS, "cycle_commands": COMMANDS}))
    assert [one.__module__.rpartition(".")[2] for one in found] == ["cycle_commands", "week_commands"]


@pytest.mark.parametrize("text", ["", "COMMANDS = ()", "COMMANDS = [print]", "COMMANDS = ('made',)"])
def test_a_file_that_makes_no_commands_is_an_error_that_says_how(
    package: Callable[[Mapping[str, str]], str], text: str
) -> None:
    with pytest.raises(TypeError, match=r"week_commands makes no commands: write `COMMANDS = \(…,\)`"):
        find_commands(package({"week_commands": text}))


def test_a_function_is_given_what_it_names_and_makes_nothing_without_the_folders_of_the_owner() -> None:
    def named(library: Library, daily_calls: int) -> Sequence[ActionDefinition]:
        return (command("files.some", f"{daily_calls}", print, ActionArguments),)  # type: ignore[arg-type]

    assert make_commands(dependencies(), [named]) == []
    [made] = make_commands(dependencies(cast(Library, PlaceholderDependency())), [named])
    assert made.description == "20"


def test_a_function_that_names_another_thing_is_told_the_names_that_there_are() -> None:
    def named(moon: str) -> Sequence[ActionDefinition]:
        return ()

    with pytest.raises(TypeError, match="named needs `moon`: there are notes, records, programs, recipes"):
        make_commands(dependencies(), [named])


def test_a_process_is_given_what_it_names_and_others_stay_as_they_are() -> None:
    async def run(turn: Turn, capacity: str = "low") -> WorkingMemory:
        return turn.memory

    processes = {"trial": MentalProcess(name="trial", run=run), "closing": PROCESSES["closing"]}
    given = ProcessDependencies(capacity="high", actions=ActionRegistry(()))
    bound = bind_processes(processes, given)
    assert getattr(bound["trial"].run, "keywords", None) == {"capacity": "high"}
    assert bound["closing"] is PROCESSES["closing"]


def test_a_process_that_needs_another_thing_is_told_the_names_that_there_are(
    package: Callable[[Mapping[str, str]], str],
) -> None:
    processes, faults = find_processes(package({"needy": NEEDY}))
    assert not processes
    [fault] = faults["needy"]
    assert fault.startswith("its function needs `moon`: take shelf, library, actions, capacity, life, notes")
