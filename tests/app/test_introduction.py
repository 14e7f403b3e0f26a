"""The introduction that the daemon prints at its start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from config import Settings
from daemon.app.start_lines import print_start_lines
from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS
from daemon.turn.usage_limits import DailyBudget
from tests.clock import FakeClock

URL = "http://127.0.0.1:8080/?token=abc"
OWNED = frozenset({"U0CAROL0003"})
TO_ITSELF = "a limit ends a run (with OWNER_USER_IDS, an owner may let it go on)"
WATCHED = "at a limit an owner may let it go on"


async def lines(capsys: pytest.CaptureFixture[str], folder: Path, **settings: Any) -> dict[str, str]:
    clock = FakeClock()
    async with Journal(folder / "journal.db", clock, SOUL_KINDS) as journal:
        print_start_lines(
            Settings(soul_home=folder, **settings), "Claudius", DailyBudget(journal, clock, 5.0), URL
        )
    return dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(("owners", "says"), [(frozenset(), TO_ITSELF), (OWNED, WATCHED)])
async def test_where_it_decides_it_says_who_may_let_a_run_go_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, owners: frozenset[str], says: str
) -> None:
    said = await lines(capsys, tmp_path, ism_enabled=True, ism_max_loops=7, owner_user_ids=owners)
    assert said["decides"] == f"by itself, in runs of 7 rounds; {says}"
    assert [*said][-2:] == ["budget", "ready"]
    assert said["ready"] == URL


@pytest.mark.parametrize("owners", [frozenset(), OWNED])
async def test_where_it_does_not_nothing_is_said_of_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, owners: frozenset[str]
) -> None:
    said = await lines(capsys, tmp_path, owner_user_ids=owners)
    assert [*said] == ["soul", "workspace", "model", "journal", "budget", "ready"]


async def test_with_all_that_there_is_to_say_it_is_at_most_nine_lines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert len(await lines(capsys, tmp_path, ism_enabled=True, console_token="s" * 40)) <= 9


@pytest.mark.parametrize(
    ("budget", "model", "says"),
    [
        (0.01, "claude-sonnet-5-5", "; no call is made: one of claude-sonnet-5-5 may cost up to $0."),
        (0.01, "claude-haiku-5-5", ""),
        (0.0, "qwen3:8b", ""),
        (5.0, "claude-sonnet-5-5", ""),
    ],
)
async def test_a_budget_that_is_smaller_than_one_call_is_said_at_the_start(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, budget: float, model: str, says: str
) -> None:
    said = await lines(capsys, tmp_path, anthropic_api_key="any", claude_model=model, budget_daily_usd=budget)
    assert ("no call is made" in said["budget"]) == bool(says)
    assert says in said["budget"]


async def test_a_server_of_chat_completions_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = await lines(capsys, tmp_path, openai_base_url="https://openrouter.ai/api/v1", claude_model="gpt-9")
    assert said["model"] == "gpt-9 at openrouter.ai"
    assert "needs OPENAI_BASE_URL, too" in (await lines(capsys, tmp_path, openai_api_key="sk-1"))["model"]


async def test_a_rehearsal_costs_nothing_so_no_budget_is_too_small_for_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "no call" not in (await lines(capsys, tmp_path, budget_daily_usd=0.0))["budget"]
