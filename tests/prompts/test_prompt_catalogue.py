"""The owner's texts, and messages about faulty files."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.app.discovery import PROCESSES, prompt_catalogue
from daemon.mind.steps import STEP_TEXTS
from daemon.prompts.chooser import CHOOSING, ChooserTexts, parse_chooser_texts
from daemon.prompts.elements import fill_placeholders, parse_moods, soul_name_in
from daemon.prompts.prompt_catalogue import MOODS_TEXT, WORDING
from tests.source import ROOT, Module, modules
from tests.texts import kept, path_of, whole

ALL = prompt_catalogue(PROCESSES.values(), STEP_TEXTS)
READERS = {
    "fill_placeholders",
    "placeholder_names",
    "lines_that_apply",
    "parse_labels",
    "two_buttons",
    "parse_moods",
    "soul_name_in",
    "parse_playbook",
    "parse_chooser_texts",
    "record_text",
}
"""Functions that take a raw text, to fill or parse it."""
AS_THEY_STAND = [
    "MADE_TEXTS[-1]",
    "PROCESS_WORDS_TEXT",
    "SOUL_TEXT",
    "SOUL_TEXT",
    "SYSTEM_TEXT",
    "TAGS_TEXT",
    "TICK_TEXT",
    'f"{READING_TEXTS}progress"',
    'f"{READING_TEXTS}system"',
]
"""Texts without placeholders, and texts filled elsewhere."""


@pytest.mark.parametrize("name", sorted(ALL.texts.keys() - ALL.defaults.keys()))
def test_every_text_can_be_used(name: str) -> None:
    assert ALL.fault(name, (whole() / f"{name}.md").read_text(encoding="utf-8")) is None


def test_a_part_of_before_in_the_texts_of_a_choice_is_passed_over() -> None:
    text = "=== unavailable\nNot now: $reason\n\n=== nudge\nNot again."
    assert ALL.fault(CHOOSING, text) is None
    assert parse_chooser_texts(text) == ChooserTexts(nudge="Not again.", log="", alone=""), (
        "the log is shown where the file says so"
    )


def test_every_file_is_used() -> None:
    unread = kept() - ALL.texts.keys()
    assert not unread, f"nobody reads these any more: delete them from tests/words: {sorted(unread)}"


def test_a_new_text_needs_no_copy_in_the_words_of_the_tests() -> None:
    new = "prompts/sentences/help"
    assert new not in kept()
    assert path_of(new) == ROOT / f"{new}.md"
    assert (whole() / f"{new}.md").read_bytes() == path_of(new).read_bytes()


def test_a_copy_that_lacks_what_the_code_needs_now_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "judge.md").write_text("Is it about $aim?")
    (tmp_path / "prompts" / "think.md").write_text("Think, $name.")
    assert path_of("prompts/judge", tmp_path) == ROOT / "prompts/judge.md"
    assert path_of("prompts/think", tmp_path) == tmp_path / "prompts/think.md"


def test_when_one_goes_to_a_process_is_said_in_its_file_and_may_be_said_in_the_owners() -> None:
    assert ALL.defaults["prompts/when/closing"] == "they are saying goodbye."
    assert [ALL.fault(name, text) for name, text in ALL.defaults.items()] == [None] * len(ALL.defaults)
    assert "it uses $nmae" in str(ALL.fault("prompts/when/closing", "$nmae"))


def test_every_text_that_a_process_reads_is_one_that_it_says_it_needs() -> None:
    known = {*WORDING, *STEP_TEXTS}
    for process in PROCESSES.values():
        source = inspect.getsource(inspect.getmodule(process.run) or process.run)
        read = set(re.findall(r'"(prompts/[a-z_/]*[a-z_])"', source))
        assert read <= known | {*process.texts}, process.name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" \n", "it is empty: write it, or put it back"),
        ("It costs $5.", "write `$$` for a dollar sign"),
        ("Hello $nmae", "it uses $nmae; it may use: $date, $time, $weekday"),
    ],
)
def test_a_broken_template_is_explained(text: str, said: str) -> None:
    assert said in str(ALL.fault("prompts/time", text))


def test_the_moods_of_the_seed_each_lend_a_verb() -> None:
    table = parse_moods((whole() / f"{MOODS_TEXT}.md").read_text(encoding="utf-8"))
    assert list(table) == ["neutral", "engaged", "focused", "frustrated", "sardonic"]
    assert len({mood.thinks for mood in table.values()}) == 5
    assert table["frustrated"].says == "snaps"


def test_moods_without_a_line_of_the_form_are_refused() -> None:
    assert "no line of the form" in str(ALL.fault(MOODS_TEXT, "neutral: thinks"))


def test_the_soul_is_called_what_its_first_heading_says() -> None:
    assert soul_name_in("About.\n# Ada\n# Not this") == "Ada"
    assert soul_name_in("no heading") == "Soul"


def test_filling_takes_no_placeholder_from_what_is_filled_in() -> None:
    assert fill_placeholders("$name pays $$5 ", name="$name") == "$name pays $5"


def as_they_stand(module: Module) -> Iterator[str]:
    calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    read = {argument for call in calls if last_name(call) in READERS for argument in call.args}
    for call in calls:
        if ast.unparse(call.func).endswith(".text") and call.args and call not in read:
            yield ast.unparse(call.args[0]).replace("'", '"')


def last_name(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def test_no_text_with_placeholders_is_read_by_people_as_it_stands_in_its_file() -> None:
    found = [text for module in modules("daemon").values() for text in as_they_stand(module)]
    assert sorted(found) == AS_THEY_STAND


def test_the_texts_of_a_choice_from_before_still_show_whole_schemas() -> None:
    text = "=== arguments\nArguments, as JSON schema: $schema"
    assert ALL.fault(CHOOSING, text) is None
    assert parse_chooser_texts(text).arguments == "Arguments, as JSON schema: $schema"
    assert "other placeholders than it needs" in str(ALL.fault(CHOOSING, "=== arguments\n$schema $arguments"))
