"""What only `make soak` tries (`pytest --soak`): of many cases of a rule, a few tell of it in `make test`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

SOAK = pytest.mark.soak


def later(*values: Any) -> Any:
    """A case of a parametrised test that only `make soak` tries."""
    return pytest.param(*values, marks=SOAK)


def shared(cases: Iterable[Any], each: int) -> list[Any]:
    """All these cases, of which `make test` tries the first, and from there each so-manieth one."""
    return [later(case) if number % each else case for number, case in enumerate(cases)]


def but(cases: Iterable[Any], soaked: Iterable[Any]) -> list[Any]:
    """All these cases, of which `make test` leaves these out."""
    left = {*soaked}
    return [later(case) if case in left else case for case in cases]
