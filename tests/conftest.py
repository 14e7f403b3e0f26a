"""Setup of all tests; a module whose tool is missing is skipped."""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.attention import AttentiveLoop
from tests.machine import folder, without_certificates

TOOLS = ("hypothesis", "playwright")
"""Tools of requirements-dev.txt."""
OVER_LOG = os.environ.get("JOURNAL") == "postgres"
"""Every journal that a test opens is over a log in PostgreSQL."""


def shared_log() -> Any:
    """Return the module that opens journals over a log, which needs psycopg."""
    return importlib.import_module("tests.shared_log")


LOGS = shared_log().put_in_place() if OVER_LOG else None
"""Made at import: conftest.py files of folders import the journal before pytest is configured."""
FEW = 40
"""Examples of a property in `make test`, always the same ones."""


def pytest_configure(config: pytest.Config) -> None:
    without_certificates()
    if OVER_LOG and not is_controller(config):
        using = shared_log().run_server(LOGS)
        using.__enter__()
        config.add_cleanup(partial(using.__exit__, None, None, None))
    if importlib.util.find_spec("hypothesis"):
        never_late(importlib.import_module("hypothesis"), config.getoption("--hypothesis-profile", None))


def is_controller(config: pytest.Config) -> bool:
    """True if other processes run the tests of this one."""
    return bool(config.getoption("numprocesses", None)) and not hasattr(config, "workerinput")


def never_late(hypothesis: Any, profile: str | None) -> None:
    """Disable deadlines of hypothesis: a slow machine is no failure."""
    patient = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
    few = {"max_examples": FEW} if profile == "ci" else {}
    name, settings = profile or "default", hypothesis.settings
    settings.register_profile(name, settings.get_profile(name), **patient, **few)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="try what is marked `soak`, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if OVER_LOG:
        left = [item for item in items if shared_log().is_about_file(item)]
        deselect(config, items, left)
    if config.getoption("soak"):
        return
    left = [item for item in items if item.get_closest_marker("soak")]
    deselect(config, items, left)


def deselect(config: pytest.Config, items: list[pytest.Item], left: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Freeze the collected objects: neither collections nor forks copy them."""
    gc.disable()
    found = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return found


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Yield a folder in memory, unlike pytest's."""
    with folder("test") as path:
        yield path


def pytest_asyncio_loop_factories() -> dict[str, type[AttentiveLoop]]:
    return {"attentive": AttentiveLoop}


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
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
    # pytest leaves it in sys.modules: later imports would miss a name, not the tool.
    path = collector.path.relative_to(collector.config.rootpath).with_suffix("")
    sys.modules.pop(".".join(path.parts), None)
