"""Health of a daemon that cannot open its journal so far."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import pytest
from aiohttp.test_utils import make_mocked_request

from daemon.app.waiting_page import STARTING, WaitingHealth


@dataclass
class Start:
    waits_for: str
    is_behind_older: bool = False


@pytest.mark.parametrize(("waits_for", "wrong"), [("", STARTING), ("It cannot be reached.",) * 2])
def test_it_says_what_it_waits_for(waits_for: str, wrong: str) -> None:
    health = WaitingHealth(machine="oak", began=1.0, start=Start(waits_for))
    answer = asyncio.run(health.answer(make_mocked_request("GET", "/healthz")))
    assert answer.status == 503
    assert answer.text
    assert json.loads(answer.text)["wrong"] == [wrong]
