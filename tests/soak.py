"""Cases that only `make soak` runs (`pytest --soak`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

SOAK = pytest.mark.soak


def later(*values: Any) -> Any:
    return pytest.param(*values, marks=SOAK)


def shared(cases: Iterable[Any], each: int) -> list[Any]:
    """Return all cases; `make test` runs each `each`-th one."""
    return [later(case) if number % each else case for number, case in enumerate(cases)]


def but(cases: Iterable[Any], soaked: Iterable[Any]) -> list[Any]:
    """Return all cases; `make test` omits `soaked`."""
    left = {*soaked}
    return [later(case) if case in left else case for case in cases]
