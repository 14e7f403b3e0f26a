"""One registry behind parser, help, prompt and documentation."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel, Field

from daemon.actions.registry import ALIASES, ActionRegistry, argument_lines, help_line, help_text
from daemon.app.discovery import all_actions
from daemon.inner_life.commands.command import CommandResult
from daemon.inner_life.grammar import parse_commands
from daemon.ism import ActionRefused
from daemon.prompts.prompt_catalogue import Playbook
from daemon.settings.limits import Limits
from tests.inner_life.some_commands import KNOWN, REGISTRY, Entry, Idle, Ids, Link, Start
from tests.source import ROOT

COMMANDS = REGISTRY.commands
EVERY = {"some": REGISTRY, "ours": all_actions()}


@pytest.mark.parametrize(
    ("name", "args", "line"),
    [
        ("notes.list", None, "notes.list: Do it."),
        ("notes.read", Ids, 'notes.read {"ids": [whole number, …]}: Do it.'),
        ("diary.add", Entry, 'diary.add {"text": text, "tags"?: [text, …]}: Do it.'),
        ("links.add", Link, 'links.add {"from": whole number, "to": whole number, "relation": text}: Do it.'),
        ("process.start", Start, 'process.start {"name": text, "slots"?: {"name": text, …}}: Do it.'),
        (
            "cycle.idle",
            Idle,
            'cycle.idle {"notes"?: {"priority"?: "low" or "normal" or "important" or "urgent", '
            '"tags"?: [text, …]}, "seconds"?: number}: Do it.',
        ),
    ],
)
def test_a_line_says_how_a_command_is_written(name: str, args: type[BaseModel] | None, line: str) -> None:
    assert help_line(name, args, "Do it.") == line
    assert help_line(name, args) == line.removesuffix(": Do it.")


class Tree(BaseModel):
    """Arguments within arguments, without end."""

    of: list[Tree] = Field(default=[], description="smaller ones")


def test_a_form_without_end_is_shown_so_far() -> None:
    assert help_line("trees.add", Tree) == 'trees.add {"of"?: [{"of"?: […, …]}, …]}'


def test_help_without_a_type_has_a_line_for_each_and_of_a_family_for_its_members() -> None:
    lines = help_text(COMMANDS).splitlines()
    assert [line.partition(":")[0].partition(" ")[0] for line in lines] == [*KNOWN]
    assert help_text(COMMANDS, "notes").splitlines() == [line for line in lines if line.startswith("notes.")]


def test_help_for_one_says_what_each_argument_means() -> None:
    assert help_text(COMMANDS, "diary.add") == (
        'diary.add {"text": text, "tags"?: [text, …]}: Do diary.add.\n'
        "Also called diary_entry.\n"
        "- `text` (text): what to keep\n"
        "- `tags` ([text, …], may be left out): words to find it by"
    )
    both = help_text(COMMANDS, "graph_add")
    assert both.startswith("concepts.add")
    assert "\n\nlinks.add" in both


def test_help_for_what_there_is_not_names_what_may_have_been_meant() -> None:
    with pytest.raises(LookupError, match=r"^There is no command dairy\.add: is it diary\.add"):
        help_text(COMMANDS, "dairy.add")
    with pytest.raises(LookupError, match="for all that there are"):
        help_text(COMMANDS, "x" * 99_999)


async def test_the_command_help_explains_the_commands_and_itself() -> None:
    one = REGISTRY.commands[0]
    nobody: Any = None
    explained = await one.perform(nobody, one.args and one.args())
    assert explained == CommandResult(text=help_text(COMMANDS))
    assert explained.text.startswith('help {"type"?: text}: Explain the commands')
    [asked] = parse_commands('```json\n{"type": "help", "args": {"type": "notes.read"}}\n```', KNOWN).commands
    assert (await one.perform(nobody, asked.args)).text == help_text(COMMANDS, "notes.read")
    [wrong] = parse_commands('```json\n{"type": "help", "args": {"type": "notes.raed"}}\n```', KNOWN).commands
    with pytest.raises(ActionRefused, match=r"is it notes\.read"):
        await one.perform(nobody, wrong.args)


@pytest.mark.parametrize("name", EVERY)
def test_parser_help_and_documentation_know_the_same_commands(name: str) -> None:
    registry = EVERY[name]
    assert registry.commands, "there is help, at the least"
    help_lines = help_text(registry.commands).splitlines()
    page = registry.as_markdown().partition("# Commands of the inner life")[2]
    for one, line in zip(registry.commands, help_lines, strict=True):
        shown = help_line(one.name, one.args)
        assert line == f"{shown}: {one.description}"
        assert f"\n## {one.name}\n\n`{shown}`\n\n{one.description}\n" in page
        [wrong] = parse_commands(f'```json\n{{"type": "{one.name}", "x": 1}}\n```', registry.known).faults
        assert (wrong.name, wrong.help) == (one.name, shown)
    assert page.count("\n## ") == len(help_lines)


def test_the_page_that_is_kept_is_that_of_the_registry() -> None:
    assert (ROOT / "docs/ACTIONS.md").read_text(encoding="utf-8") == all_actions().as_markdown()


@pytest.mark.parametrize("name", EVERY)
def test_every_command_takes_what_it_names_and_nothing_else(name: str) -> None:
    for one in EVERY[name].commands:
        for model in models(one.args.model_json_schema()) if one.args else ():
            assert model.get("additionalProperties") is not None, f"{one.name} needs extra='forbid'"


def models(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found = [schema, *schema.get("$defs", {}).values()]
    return [one for one in found if "properties" in one]


def test_an_alias_means_a_command_of_the_inner_life_alone() -> None:
    names = [name for meant in ALIASES.values() for name in meant]
    assert not {*names} & {*all_actions().named}
    assert not {*ALIASES} & {*all_actions().known}


def test_commands_are_offered_to_nobody_else() -> None:
    both = ActionRegistry([*all_actions().named.values(), *REGISTRY.commands])
    playbook = Playbook(
        name="mending",
        goal="Mend it.",
        actions=("SearchMemory", "diary.add", "help"),
        limits=Limits(),
        transitions={},
    )
    assert [one.name for one in both.offered_by(playbook)] == ["SearchMemory"]
    assert "diary.add" not in both.named
    assert [one.name for one in both.commands] == [*KNOWN]


class Visit(BaseModel):
    """When, and how many."""

    day: date = Field(description="which day")
    people: int = Field(default=1, ge=1, le=6, description="how many")
    rooms: int | None = Field(default=None, ge=1, description="how many rooms")


def test_the_form_of_a_date_and_between_which_numbers_something_is_are_told() -> None:
    assert list(argument_lines(Visit)) == [
        '- `day` ("2026-11-27"): which day',
        "- `people` (whole number, 1 to 6, may be left out): how many",
        "- `rooms` (whole number, at least 1, may be left out): how many rooms",
    ]
