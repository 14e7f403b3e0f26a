"""`check`: findings about files of processes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.app.check import OwnerCode, check_texts
from daemon.app.discovery import PROCESSES, find_processes
from daemon.process import MentalProcess
from tests.app.test_check import REGISTRY
from tests.pages.following import Command, printed
from tests.project_copy import copied as project_copied
from tests.soak import SOAK
from tests.source import ROOT
from tests.texts import copied

Found = tuple[Mapping[str, MentalProcess], Mapping[str, Sequence[str]]]
TRIAL = """
from daemon.process import MentalProcess, Placeholders

async def run(turn):
    'Try.'
    return turn.memory

PROCESS = MentalProcess(name="trial", run=run, when="they try.")
"""
MISTAKES = {
    ("PROCESS =", "PROCESS = = "): "it cannot be read (SyntaxError: invalid syntax (trial.py, line 8)): mend",
    (
        "import MentalProcess",
        "import MantelProcess",
    ): "it cannot be read (ImportError at line 2: cannot import",
    ("when=", "whne="): "it cannot be read (TypeError at line 8: MentalProcess.__init__() got an unexpected",
    ("PROCESS =", "TRIAL ="): "it holds no process: write `PROCESS = MentalProcess(…)`",
    ('"trial"', '"My Trial"'): "'My Trial' is no name for a process: use a-z, 0-9 and _ alone",
    ("async def", "def"): "its function does not wait: write `async def`",
    (
        '"they try."',
        '"", leads_to=("closing")',
    ): '`leads_to` is a text where a tuple belongs: write `leads_to=("closing",)`',
    ('"they try."', '"", texts={"prompts/trial"}'): "its `texts` name no `Placeholders`: write `texts={",
    (
        '"they try."',
        '"", commands=("trial")',
    ): "`commands` is a text where a tuple belongs: write `commands=(",
    ('"they try."', '"", commands=("!Try",)'): "'!Try' is no command: write the word alone, without `!`",
    ('"they try."', '"", commands=("stop",)'): "`!stop` ends what goes on and reaches no process",
    ('"trial"', '"before"'): "before.py has a process `before`, too: give one of them another name",
}


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Found]:
    """Return a checker of code after a sound file."""
    monkeypatch.syspath_prepend(tmp_path)
    package = f"trials_{tmp_path.name.replace('-', '_')}"

    def finding(text: str) -> Found:
        folder = tmp_path / package
        folder.mkdir()
        (folder / "before.py").write_text(TRIAL.replace('"trial"', '"before"'))
        (folder / "trial.py").write_text(text)
        return find_processes(package)

    return finding


@pytest.mark.parametrize(("mistake", "said"), MISTAKES.items(), ids=map(str, range(len(MISTAKES))))
def test_a_file_that_can_be_no_process_is_named_and_the_others_are_found(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    tried: Callable[[str], Found],
    mistake: tuple[str, str],
    said: str,
) -> None:
    processes, faults = tried(TRIAL.replace(*mistake))
    assert ([*processes], [*faults]) == (["before"], ["trial"])
    [wrong] = checked(tmp_path, capsys, OwnerCode(registry=REGISTRY, processes=PROCESSES, broken=faults))
    assert wrong.startswith("✗ processes/trial ")
    assert said in wrong


@pytest.mark.parametrize(
    "returns",
    [
        "return Transition(to='conversatoin', memory=turn.memory)",
        "return [turn.memory, 'conversatoin', {'executeNow': True}]",
        "return turn.memory, 'conversatoin', {}",
    ],
)
def test_a_name_in_a_transition_that_is_no_process_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tried: Callable[[str], Found], returns: str
) -> None:
    text = TRIAL.replace("return turn.memory", returns).replace("Placeholders", "Transition")
    processes, _ = tried(text)
    [wrong] = checked(tmp_path, capsys, OwnerCode(registry=REGISTRY, processes={**PROCESSES, **processes}))
    assert wrong.startswith("✗ processes/trial ")
    assert wrong.endswith("there is no process conversatoin; is it conversation?")


def test_a_command_that_no_process_answers_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    processes = {**PROCESSES, "tracing": replace(PROCESSES["tracing"], commands=(), called="never")}
    [wrong] = checked(tmp_path, capsys, OwnerCode(registry=REGISTRY, processes=processes))
    assert wrong.startswith("✗ !trace ")
    assert 'no process answers it: write `commands=("trace",)`' in wrong


def test_a_command_that_two_processes_answer_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tried: Callable[[str], Found]
) -> None:
    processes, _ = tried(TRIAL.replace('"they try."', '"", commands=("help",)'))
    [wrong] = checked(tmp_path, capsys, OwnerCode(registry=REGISTRY, processes={**PROCESSES, **processes}))
    assert wrong.startswith("✗ !help ")
    assert "usage and trial both answer it: leave it to one of them" in wrong


def test_a_start_with_a_command_that_two_processes_answer_ends_with_a_sentence(tmp_path: Path) -> None:
    project = project_copied(tmp_path)
    shutil.copy(ROOT / "manifest.json", project)
    text = TRIAL.replace('"they try."', '"", commands=("help",)')
    (project / "daemon" / "processes" / "trial.py").write_text(text)
    said = printed(Command(line=".venv/bin/python -m daemon", prints=()), project)
    assert said == "!help: trial and usage both answer it: leave it to one of them\n"


def checked(folder: Path, capsys: pytest.CaptureFixture[str], code: OwnerCode) -> list[str]:
    assert check_texts(copied(folder), code) == 1
    return [line for line in capsys.readouterr().out.splitlines() if line[0] == "✗"]


@SOAK
@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("processes/trial", "processes/trial: it cannot be read (SyntaxError: "),
        ("processes/deep_reading", "daemon/processes/deep_reading.py: it cannot be read (SyntaxError: "),
        (
            "inner_life/commands/memory_commands",
            "daemon/inner_life/commands/memory_commands.py: it cannot be read (SyntaxError: ",
        ),
    ],
)
def test_a_start_with_code_that_cannot_be_read_ends_with_a_sentence(
    tmp_path: Path, file: str, named: str
) -> None:
    project = project_copied(tmp_path)
    shutil.copy(ROOT / "manifest.json", project)
    (project / "daemon" / f"{file}.py").write_text("PROCESS = = 1")
    said = printed(Command(line=".venv/bin/python -m daemon", prints=()), project)
    assert said.startswith(named)
    assert len(said.splitlines()) == 1
    said = printed(Command(line=".venv/bin/python -m daemon check", prints=()), project)
    assert "it cannot be read (SyntaxError: " in said
    for command in ("check", "doctor", "actions", "read x -q y"):
        said = printed(Command(line=f".venv/bin/python -m daemon {command}", prints=()), project)
        assert "Traceback" not in said


@SOAK
def test_a_start_names_what_is_wrong_of_actions_and_of_processes_at_once(tmp_path: Path) -> None:
    project = project_copied(tmp_path)
    shutil.copy(ROOT / "manifest.json", project)
    for folder in ("actions", "daemon/processes"):
        (project / folder / "trial.py").write_text("x = = 1")
    said = printed(Command(line=".venv/bin/python -m daemon", prints=()), project)
    assert [line.partition(":")[0] for line in said.splitlines()] == ["actions/trial", "processes/trial"]


def test_a_start_without_what_it_needs_says_what_to_install(tmp_path: Path) -> None:
    project = project_copied(tmp_path)
    shutil.copy(ROOT / "manifest.json", project)
    gone = "raise ModuleNotFoundError(\"No module named 'aiohttp'\", name='aiohttp')"
    (project / "aiohttp.py").write_text(gone)
    for command in ("", " read x -q y", " doctor"):
        said = printed(Command(line=f".venv/bin/python -m daemon{command}", prints=()), project)
        assert "aiohttp is not installed here: `make install`" in said
        assert "Traceback" not in said
