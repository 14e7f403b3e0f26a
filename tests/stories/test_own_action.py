"""Owner's action from a file in actions/."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.app.discovery import find_owner_actions, with_samples
from daemon.app.journal_commands import verify_journal
from daemon.settings.parse import ConfigError
from rehearsal.people import CAROL
from tests.stories.choosing import ASKED, answers, choice, ended, pressed, questions, told, turning
from tests.stories.stage import ALICE, GENERAL, ME, Stage, reply, staged

LOOKS = '''
from pathlib import Path
from typing import Annotated

from daemon.actions.function import action

DEPLOYS = Path(__file__).parent / "deploys.log"


@action(playbooks=["problem_solving"])
async def look_up_deploys(service: Annotated[str, "the name of the service"], most: int = 3) -> str:
    """Look up when one of our services was deployed last."""
    lines = [line for line in DEPLOYS.read_text().splitlines() if service in line]
    return "\\n".join(lines[-most:])
'''
TELLS = '''
from daemon.actions.function import Say, action
from daemon.memory import WorkingMemory


@action(playbooks=["problem_solving"])
async def say_first(say: Say, memory: WorkingMemory) -> str:
    """Say what it is about."""
    await say("The ferry, then." if "ferry" in memory.conversation[0].content else "What?")
    return "said"
'''
ROLLS_BACK = '''
from pathlib import Path

from daemon.actions.function import action


@action(playbooks=["problem_solving"], approval=True)
async def roll_back(service: str) -> str:
    """Roll a service back to what ran before."""
    done = Path(__file__).parent / "done.txt"
    done.write_text(done.read_text() + f"{service} is %s\\n" if done.exists() else f"{service} is %s\\n")
    return "done"
'''
MODELLED = '''
from pydantic import BaseModel, Field

from daemon.actions.function import action


class Span(BaseModel):
    """How far back."""

    days: int


class What(BaseModel):
    """What to look up."""

    most: int = Field(description="how many")
    within: Span


@action(playbooks=["problem_solving"])
async def look_up(what: What) -> str:
    """Look up deploys."""
    return f"{type(what).__name__}: {what.most} within {what.within.days}"
'''
LOOK = {"name": "LookUpDeploys", "args": {"service": "ferry"}}
BACK = {"name": "RollBack", "args": {"service": "ferry"}}


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        (stage.words / "actions").mkdir()
        yield stage
        assert verify_journal(stage.soul.journal).violations == []
        assert not stage.entries("attempt-failed")


def write(stage: Stage, name: str, text: str) -> Path:
    folder = stage.words / "actions"
    (folder / name).write_text(text, encoding="utf-8")
    return folder


async def test_it_is_offered_with_its_docstring_and_its_arguments_and_looks_up_once(stage: Stage) -> None:
    write(stage, "deploys.py", LOOKS)
    write(stage, "deploys.log", "ferry 1\npier 2\nferry 3\n")
    await stage.wake(ism_enabled=True)
    answers(stage, turning(), choice(LOOK), choice("Respond"), reply("Twice."))
    ts = await stage.say("alice", ALICE, ASKED)
    assert (await stage.answers(ALICE, ts))[-1] == "Twice."
    asked = told(stage)
    assert "- **LookUpDeploys**: Look up when one of our services was deployed last." in asked
    assert "the name of the service" in asked
    assert "ferry 1\\nferry 3" in asked
    [done] = stage.entries("action")
    assert (done.event.name, done.event.args) == ("LookUpDeploys", {"service": "ferry", "most": 3})


HUGE = 10**30
"""Number too large for databases and many JSON readers."""


async def test_a_number_beyond_the_limit_is_refused_with_the_limit_and_without_a_traceback(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    write(stage, "deploys.py", LOOKS)
    await stage.wake(ism_enabled=True)
    wrong = {"name": "LookUpDeploys", "args": {"service": "ferry", "most": HUGE}}
    back = {"name": "ReadThread", "args": {"back": HUGE}}
    answers(stage, turning(), choice(wrong, back), choice("Respond"), reply("No."))
    ts = await stage.say("alice", ALICE, ASKED)
    assert (await stage.answers(ALICE, ts))[-1] == "No."
    asked = told(stage)
    assert "most should be between -9007199254740991 and 9007199254740991" in asked
    assert "back: Input should be less than or equal to 1000000" in asked
    held = [str(request.get("output_config")) for request in stage.model.requests]
    assert any("{maximum: 9007199254740991}" in one for one in held), "the schema states the limit"
    assert "Traceback" not in caplog.text
    assert not stage.entries("action")


async def test_a_model_of_arguments_of_the_owners_own_has_limits_too(stage: Stage) -> None:
    write(stage, "deploys.py", MODELLED)
    await stage.wake(ism_enabled=True)
    wrong = {"name": "LookUp", "args": {"most": 3, "within": {"days": -HUGE}}}
    right = {"name": "LookUp", "args": {"most": 3, "within": {"days": 4}}}
    answers(stage, turning(), choice(wrong), choice(right), choice("Respond"), reply("Yes."))
    ts = await stage.say("alice", ALICE, ASKED)
    assert (await stage.answers(ALICE, ts))[-1] == "Yes."
    asked = told(stage)
    assert "within.days should be between -9007199254740991 and 9007199254740991" in asked
    assert "What: 3 within 4" in asked


async def test_it_speaks_with_what_it_is_given_and_the_soul_knows_that_it_was_said(stage: Stage) -> None:
    write(stage, "first.py", TELLS)
    await stage.wake(ism_enabled=True)
    answers(stage, turning(), choice("SayFirst"), choice("Respond"), reply("That was it."))
    ts = await stage.say("alice", ALICE, ASKED)
    assert (await stage.answers(ALICE, ts))[-2:] == ["The ferry, then.", "That was it."]
    assert "The ferry, then." in stage.asked()[-1]
    assert ended(stage) == ["finished"]
    assert not stage.entries("action"), "its steps are its own"


@pytest.mark.parametrize(("word", "does"), [("back", ["back"]), ("gone", [])])
async def test_a_yes_is_to_the_function_as_it_was(stage: Stage, word: str, does: list[str]) -> None:
    folder = write(stage, "rolling.py", ROLLS_BACK % ("back", "back"))
    await stage.wake(ism_enabled=True, owner_user_ids=frozenset({CAROL.id}))
    answers(stage, turning(), choice(BACK))
    await stage.say("alice", GENERAL, f"{ME} {ASKED}")
    assert len(questions(stage)) == 1
    await stage.sleep()
    write(stage, "rolling.py", ROLLS_BACK % (word, word))
    await stage.wake()
    if does:
        answers(stage, choice("Respond"), reply("Done."))
    await pressed(stage, "carol", "Approve")
    done = folder / "done.txt"
    assert (done.read_text().split()[-1:] if done.exists() else []) == does


async def test_one_that_cannot_be_an_action_ends_the_start_with_a_line_for_each_fault(stage: Stage) -> None:
    write(stage, "deploys.py", LOOKS.replace("service: Annotated", "memory: Annotated"))
    write(stage, "broken.py", "def")
    with pytest.raises(ConfigError) as raised:
        await stage.wake(ism_enabled=True)
    lines = str(raised.value).splitlines()
    assert lines[0].startswith("actions/broken: it cannot be read (SyntaxError: ")
    assert lines[1:] == [
        "actions/deploys: LookUpDeploys: `memory` is what the daemon gives it:"
        " write `memory: daemon.memory.WorkingMemory`, or name it otherwise"
    ]
    write(stage, "deploys.py", LOOKS)
    write(stage, "broken.py", TELLS)
    await stage.wake()


@pytest.mark.parametrize(
    "line", ["raise RuntimeError('no key')", "assert not __file__", "1 / 0", "raise SystemExit"]
)
def test_whatever_a_file_raises_as_it_is_read_is_a_fault_of_that_file(tmp_path: Path, line: str) -> None:
    (tmp_path / "actions").mkdir()
    (tmp_path / "actions" / "broken.py").write_text(f"{line}\n", encoding="utf-8")
    [[fault]] = find_owner_actions(tmp_path).faults.values()
    assert fault.startswith("it cannot be read (")


async def test_a_sample_gives_way_to_an_action_of_the_owners_with_its_name(tmp_path: Path) -> None:
    folders = [tmp_path / "owner", tmp_path / "samples"]
    for folder in folders:
        (folder / "actions").mkdir(parents=True)
        (folder / "actions" / "deploys.py").write_text(LOOKS, encoding="utf-8")
    (folders[1] / "actions" / "rolling.py").write_text(ROLLS_BACK % ("back", "back"), encoding="utf-8")
    offered = with_samples(find_owner_actions(folders[0]), folders[1]).actions
    assert [one.name for one in offered] == ["LookUpDeploys", "RollBack"]
