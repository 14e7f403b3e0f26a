"""files.search and files.read: large and unreadable files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from daemon.inner_life.commands.cycle_commands import file_commands
from daemon.ism import ActionRefused
from daemon.knowledge.library import FolderLibrary


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "visitors.log").write_text("somebody came\n" * 100_000)
    (folder / "plan.pdf").write_bytes(b"%PDF-1.7\n\0")
    return folder


async def done(folder: Path, name: str, **args: Any) -> str:
    with FolderLibrary([folder]) as library:
        [command] = [one for one in file_commands(library) if one.name == name]
        assert command.args
        came = await command.perform(cast(Any, None), command.args(**args))
        return str(cast(Any, came).text)


async def test_a_search_names_what_it_cannot_look_into(handbook: Path) -> None:
    assert await done(handbook, "files.search", query="visitors") == (
        "Nothing was found.\n"
        "Not searched, too large or no plain text: handbook/plan.pdf, handbook/visitors.log"
    )


async def test_lines_of_a_large_file_are_read(handbook: Path) -> None:
    assert await done(handbook, "files.read", path="handbook/visitors.log", line=100_000) == (
        "handbook/visitors.log:100000: somebody came"
    )


@pytest.mark.parametrize(
    ("path", "line", "why"),
    [
        ("handbook/visitors.log", 100_001, "has no line 100001"),
        ("handbook/plan.pdf", 1, "is no plain text. The process `read` reads whole files"),
        ("handbook/gone.md", 1, "handbook/gone.md: the owner's folders hold no such file."),
        ("handbook", 1, "hold no such file"),
    ],
)
async def test_why_no_line_is_read_is_said_with_the_name(
    handbook: Path, path: str, line: int, why: str
) -> None:
    with pytest.raises(ActionRefused) as refused:
        await done(handbook, "files.read", path=path, line=line)
    assert why in str(refused.value)
    assert path in str(refused.value)
