"""The owner's words: what is wrong with a file is said in a sentence."""

from __future__ import annotations

import pytest

from daemon.mind.playbook import PLAYBOOKS
from daemon.mind.wording import MOODS, WORDING, fault, fill, moods, name_of
from daemon.project import root


@pytest.mark.parametrize("name", WORDING)
def test_every_text_of_the_project_can_be_used(name: str) -> None:
    assert fault(name, (root() / f"{name}.md").read_text(encoding="utf-8")) is None


def test_every_file_of_the_owner_is_used() -> None:
    files = {str(path.relative_to(root()).with_suffix("")) for path in (root() / "prompts").rglob("*.md")}
    assert files | {"soul"} == {name for name in WORDING if not name.startswith(PLAYBOOKS)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" \n", "it is empty"),
        ("It costs $5.", "write `$$` for a dollar sign"),
        ("Hello $nmae", "it uses $nmae; it may use: $date, $time, $weekday"),
    ],
)
def test_a_broken_template_is_explained(text: str, said: str) -> None:
    assert said in str(fault("prompts/time", text))


def test_the_moods_of_the_seed_each_lend_a_verb() -> None:
    table = moods((root() / f"{MOODS}.md").read_text(encoding="utf-8"))
    assert list(table) == ["neutral", "engaged", "focused", "frustrated", "sardonic"]
    assert len({mood.thinks for mood in table.values()}) == 5
    assert table["frustrated"].says == "snaps"


def test_moods_without_a_line_of_the_form_are_refused() -> None:
    assert "no line of the form" in str(fault(MOODS, "neutral: thinks"))


def test_the_soul_is_called_what_its_first_heading_says() -> None:
    assert name_of("About.\n# Ada\n# Not this") == "Ada"
    assert name_of("no heading") == "Soul"


def test_filling_takes_no_placeholder_from_what_is_filled_in() -> None:
    assert fill("$name pays $$5 ", name="$name") == "$name pays $5"
