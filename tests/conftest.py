"""What every test runs in; what a machine lacks is the reason why a module of tests is skipped."""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attention import AttentiveLoop
from tests.machine import folder, without_certificates

TOOLS = ("hypothesis", "playwright")
"""What only requirements-dev.txt names, and some tests are written with."""
FEW = 40
"""Examples of a property that `make test` tries, the same each time; `make soak` tries more, and others."""


def pytest_configure(config: pytest.Config) -> None:
    without_certificates()
    if importlib.util.find_spec("hypothesis"):
        never_late(importlib.import_module("hypothesis"), config.getoption("--hypothesis-profile", None))


def never_late(hypothesis: Any, profile: str | None) -> None:
    """How long an example takes is the machine's matter, and no fault."""
    patient = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
    few = {"max_examples": FEW} if profile == "ci" else {}
    name, settings = profile or "default", hypothesis.settings
    settings.register_profile(name, settings.get_profile(name), **patient, **few)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="try what is marked `soak`, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("soak"):
        return
    left = [item for item in items if item.get_closest_marker("soak")]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if not item.get_closest_marker("soak")]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is made here stays: no search for garbage goes through it, no forked life copies its counts."""
    gc.disable()
    found = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return found


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder of its own for each test: in memory, where pytest's is on the disk."""
    with folder("test") as path:
        yield path


def pytest_asyncio_loop_factories() -> dict[str, type[AttentiveLoop]]:
    """Each asynchronous test has a loop that tells when something stirred."""
    return {"attentive": AttentiveLoop}


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a module that is written with a tool that is not here."""
    report = yield
    if report.outcome == "failed":
        for tool in TOOLS:
            if f"No module named '{tool}'" in str(report.longrepr):
                report.outcome = "skipped"
                reason = f"Skipped: {tool} is not here: pip install -r requirements-dev.txt"
                report.longrepr = (str(collector.path), 1, reason)
                _forget_half_a_module(collector)
    return report


def _forget_half_a_module(collector: pytest.Collector) -> None:
    # pytest leaves it in sys.modules: who imports from it would miss a name, and not the tool.
    path = collector.path.relative_to(collector.config.rootpath).with_suffix("")
    sys.modules.pop(".".join(path.parts), None)
