"""Models of the roles, as set."""

from __future__ import annotations

import pytest

from config import Settings
from daemon.app.wiring import make_claude
from daemon.model import Role
from tests.claude.conftest import MEMORY
from tests.clock import FakeClock

ROLES: tuple[Role, ...] = ("speak", "fast", "fallback")


async def asked(settings: Settings, role: Role) -> str:
    async with make_claude(settings, FakeClock(), "http://127.0.0.1:1") as claude:
        return str(claude.request(MEMORY, role)["model"])


async def test_a_fallback_is_the_model_that_speaks_if_none_is_named() -> None:
    settings = Settings(claude_model="a", claude_model_fast="b")
    assert [await asked(settings, role) for role in ROLES] == ["a", "b", "a"]
    assert await asked(Settings(claude_model_fallback="c"), "fallback") == "c"


async def test_there_is_an_expert_only_where_one_is_named() -> None:
    assert await asked(Settings(claude_model_expert="claude-opus-5-5"), "expert") == "claude-opus-5-5"
    with pytest.raises(KeyError):
        await asked(Settings(), "expert")
