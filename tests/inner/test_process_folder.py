"""The folder of a program: who lives in it is who its file names, if that is one process."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from daemon.inner.process_folder import holder


@pytest.mark.parametrize(
    ("written", "lives"), [("4711", 4711), ("-1", None), ("0", None), ("1", None), ("me", None)]
)
def test_a_number_that_is_no_process_names_nobody(tmp_path: Path, written: str, lives: int | None) -> None:
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(written)
    with wrapper.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert holder(tmp_path) == lives
    assert holder(tmp_path) is None, "nobody holds it"
