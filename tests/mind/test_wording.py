"""The owner's words: what is wrong with a file is said in a sentence."""

from __future__ import annotations

import inspect
import re

import pytest

from daemon.mind.wording import MOODS, WORDING, catalogue, fill, moods, name_of
from daemon.processes import PROCESSES
from tests.texts import whole

ALL = catalogue(PROCESSES.values())


@pytest.mark.parametrize("name", sorted(ALL.texts.keys() - ALL.defaults.keys()))
def test_every_text_can_be_used(name: str) -> None:
    assert ALL.fault(name, (whole() / f"{name}.md").read_text(encoding="utf-8")) is None


def test_every_file_is_used() -> None:
    files = {str(path.relative_to(whole()).with_suffix("")) for path in whole().rglob("*.md")}
    assert files == ALL.texts.keys() - ALL.defaults.keys()


def test_when_one_goes_to_a_process_is_said_in_its_file_and_may_be_said_in_the_owners() -> None:
    assert ALL.defaults["prompts/when/closing"] == "they are saying goodbye."
    assert [ALL.fault(name, text) for name, text in ALL.defaults.items()] == [None] * len(ALL.defaults)
    assert "it uses $nmae" in str(ALL.fault("prompts/when/closing", "$nmae"))


def test_every_text_that_a_process_reads_is_one_that_it_says_it_needs() -> None:
    """Else it would be missed only when the process is gone into."""
    known = {*WORDING}
    for process in PROCESSES.values():
        source = inspect.getsource(inspect.getmodule(process.run) or process.run)
        read = set(re.findall(r'"(prompts/[a-z_/]*[a-z_])"', source))
        assert read <= known | {*process.texts}, process.name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" \n", "it is empty"),
        ("It costs $5.", "write `$$` for a dollar sign"),
        ("Hello $nmae", "it uses $nmae; it may use: $date, $time, $weekday"),
    ],
)
def test_a_broken_template_is_explained(text: str, said: str) -> None:
    assert said in str(ALL.fault("prompts/time", text))


def test_the_moods_of_the_seed_each_lend_a_verb() -> None:
    table = moods((whole() / f"{MOODS}.md").read_text(encoding="utf-8"))
    assert list(table) == ["neutral", "engaged", "focused", "frustrated", "sardonic"]
    assert len({mood.thinks for mood in table.values()}) == 5
    assert table["frustrated"].says == "snaps"


def test_moods_without_a_line_of_the_form_are_refused() -> None:
    assert "no line of the form" in str(ALL.fault(MOODS, "neutral: thinks"))


def test_the_soul_is_called_what_its_first_heading_says() -> None:
    assert name_of("About.\n# Ada\n# Not this") == "Ada"
    assert name_of("no heading") == "Soul"


def test_filling_takes_no_placeholder_from_what_is_filled_in() -> None:
    assert fill("$name pays $$5 ", name="$name") == "$name pays $5"
