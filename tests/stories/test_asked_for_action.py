"""Rehearsed choice of an owner's action by its name or description."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.source import ROOT
from tests.stories.stage import ALICE, Stage, staged
from tests.texts import copied

OTHERS = '''
"""Actions of all sorts."""

from typing import Annotated, Literal

from daemon.actions.function import action


@action(playbooks=["problem_solving"])
async def weather(city: Annotated[str, "which city"]) -> str:
    """Tell what the weather is like in a city."""
    return f"It rains in {city}."


@action(playbooks=["problem_solving"])
async def roll_dice(sides: int, times: int = 1) -> str:
    """Roll a dice."""
    return f"{times} of {sides} sides"


@action(playbooks=["problem_solving"])
async def convert_money(amount: float, to: Literal["EUR", "USD", "CHF"], exact: bool = False) -> str:
    """Convert an amount of money."""
    return f"{amount} {to} {exact}"


@action(playbooks=["problem_solving"])
async def file_ticket(title: str, body: str = "", labels: list[str] | None = None) -> str:
    """File a ticket for the team that keeps the pumps."""
    return f"{title}|{body}|{labels}"


@action(playbooks=["problem_solving"])
async def wait_for_pump() -> str:
    """Wait until the pump answers."""
    raise TimeoutError


@action(playbooks=["deploys"])
async def change_currency(amount: float, source: Literal["EUR", "USD"], target: Literal["EUR", "USD"]) -> str:
    """Change an amount of one currency into another."""
    return f"{amount} {source} in {target}"


@action(playbooks=["deploys"])
async def tide(harbour: str) -> str:
    """Say when the water is high in a harbour."""
    return f"At 4:10 in {harbour}."


@action(playbooks=["deploys"])
async def ping_buoy() -> str:
    """Ping the buoy of the harbour."""
    return "pong"


@action(playbooks=["problem_solving"])
async def check_crane(load: float) -> str:
    """Check whether the crane can lift a load."""
    return f"{load} is fine"


@action(playbooks=["problem_solving"])
async def drain_pump() -> str:
    """Drain the pump."""
    raise NotImplementedError
'''


def block(page: str, kind: str, nth: int = 0) -> str:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return str(re.findall(rf"```{kind}\n(.*?)```", text, re.S)[nth])


def as_the_pages_say(folder: Path) -> Path:
    words = copied(folder)
    (words / "playbooks" / "deploys.md").write_text(block("FIRST_PLAYBOOK.md", "markdown"))
    actions = words / "actions"
    actions.mkdir(exist_ok=True)
    (actions / "deploys.py").write_text(block("FIRST_ACTION.md", "python"))
    (actions / "deploys.log").write_text(block("FIRST_ACTION.md", "text"))
    (actions / "others.py").write_text(OTHERS)
    return words


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path, as_the_pages_say) as stage:
        await stage.wake(ism_enabled=True)
        await stage.say("alice", ALICE, "Hello")
        yield stage


async def done(stage: Stage, words: str) -> tuple[list[tuple[str, dict[str, Any]]], str]:
    before = len(stage.entries("action"))
    ts = await stage.say("alice", ALICE, words)
    usual = {"most": 3, "times": 1, "exact": False, "body": "", "labels": None}
    acted = []
    for one in stage.entries("action")[before:]:
        given = {arg: value for arg, value in one.event.args.items() if value != usual.get(arg, ...)}
        acted.append((one.event.name, given))
    return acted, (await stage.answers(ALICE, ts))[-1]


LOOKED = {"service": "ferry"}


DEPLOYS: list[tuple[str, dict[str, Any]]] = [
    ("LookUpDeploys ferry", LOOKED),
    ("Please use LookUpDeploys for the ferry.", LOOKED),
    ("look_up_deploys(service=ferry, most=1)", {"service": "ferry", "most": 1}),
    ("Look up deploys: service ferry, most 2", {"service": "ferry", "most": 2}),
    ("Who deployed ferry last?", LOOKED),
    ("When was the ferry deployed?", LOOKED),
    ("Tell me about the deploys of “ferry”, please.", LOOKED),
]


async def test_the_action_of_the_page_is_taken_however_it_is_asked_for(stage: Stage) -> None:
    for words, args in DEPLOYS:
        acted, heard = await done(stage, words)
        assert acted == [("LookUpDeploys", args)], words
        assert "2026-11-23 ferry 41 by Bob" in heard


GIVEN: list[tuple[str, str, dict[str, Any]]] = [
    ("Look up the weather in Berlin", "Weather", {"city": "Berlin"}),
    ("Please use weather for Berlin.", "Weather", {"city": "Berlin"}),
    ("What is the weather in Berlin?", "Weather", {"city": "Berlin"}),
    ("Roll a dice with 6 sides", "RollDice", {"sides": 6}),
    ("Can you file a ticket “More oil” for the team?", "FileTicket", {"title": "More oil"}),
    ("Please drain the pump.", "DrainPump", {}),
    ("RollDice 20", "RollDice", {"sides": 20}),
    ("Roll a dice", "RollDice", {"sides": 1}),
    ("Please roll_dice with 12 sides, 3 times", "RollDice", {"sides": 12, "times": 3}),
    ("Use ConvertMoney: 12.5 to CHF", "ConvertMoney", {"amount": 12.5, "to": "CHF"}),
    ("convert_money amount 3 to usd exact", "ConvertMoney", {"amount": 3.0, "to": "USD", "exact": True}),
    ("FileTicket “The pump leaks”", "FileTicket", {"title": "The pump leaks"}),
    (
        "FileTicket title: The pump leaks, body: It drips.",
        "FileTicket",
        {"title": "The pump leaks", "body": "It drips"},
    ),
    (
        "FileTicket 'It leaks' labels: pump, urgent",
        "FileTicket",
        {"title": "It leaks", "labels": ["pump", "urgent"]},
    ),
]


async def test_any_action_is_given_what_the_words_say(stage: Stage) -> None:
    for words, name, args in GIVEN:
        acted, _ = await done(stage, words)
        assert acted == [(name, args)], words


DESCRIBED: list[tuple[str, str, dict[str, Any]]] = [
    ("Ping the harbour's buoy", "PingBuoy", {}),
    ("can you please ping the buoy?", "PingBuoy", {}),
    ("ping buoy", "PingBuoy", {}),
    ("Can the crane lift 5.5?", "CheckCrane", {"load": 5.5}),
    ("Roll a dice with 6 sides", "RollDice", {"sides": 6}),
    ("Change 20 EUR into USD", "ChangeCurrency", {"amount": 20.0, "source": "EUR", "target": "USD"}),
    ("Convert 20 to USD of money", "ConvertMoney", {"amount": 20.0, "to": "USD"}),
]


async def test_an_action_is_found_by_its_description_alone_wherever_it_is_offered(
    stage: Stage,
) -> None:
    for words, name, args in DESCRIBED:
        acted, _ = await done(stage, words)
        assert acted == [(name, args)], words


async def test_who_speaks_is_told_which_actions_of_the_owners_there_are_and_where(stage: Stage) -> None:
    [asked] = stage.told()
    assert "or by whom. Actions there: LookUpDeploys — Look up when one of our services" in asked
    assert "PingBuoy — Ping the buoy of the harbour." in asked
    assert asked.count("CheckCrane — Check whether the crane can lift a load") == 1


NO_ACTION = [
    "Did anybody drain the pump?",
    "What is in the harbour log?",
    "What is new?",
    "I like ferries.",
    "My birthday is in March.",
    "What a day!",
]


async def test_what_asks_for_no_action_calls_none_of_the_owners(stage: Stage) -> None:
    for words in NO_ACTION:
        acted, _ = await done(stage, words)
        assert {name for name, _ in acted} <= {"Think", "Research", "SearchMemory"}, words


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("WaitForPump now", "it failed: TimeoutError: it took too long, and was given up"),
        ("DrainPump now", "it failed: NotImplementedError: it gave no reason"),
    ],
)
async def test_an_error_without_words_is_told_in_a_sentence(stage: Stage, words: str, told: str) -> None:
    _, heard = await done(stage, words)
    assert heard == f"That went wrong, Alice: {told}."
    assert [one.event.text for one in stage.entries("observation")] == [told]
    assert any(told in asked for asked in stage.asked())
