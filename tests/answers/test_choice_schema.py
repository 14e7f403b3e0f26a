"""The schema of a run's choices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from anthropic import transform_schema
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, create_model

from daemon.answers.choice import AS_TEXT, arguments_in_words, choice_schema, parse_choice
from daemon.prompts.chooser import ChooserTexts
from tests.ism.chooser import Chooser, Deeds, choose, run


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    """A model within a model."""

    room: str
    floor: int | None = None


class Look(BaseModel):
    """One argument of each kind that can be said."""

    query: Annotated[str, Field(min_length=2, max_length=80, description="what to look for")]
    where: Literal["here", "there"] = "here"
    colours: list[Colour] = Field(default=[], max_length=3)
    place: Place | None = None
    after: date | None = None
    most: Annotated[int, Field(ge=1, le=9)] = 5


class Tree(BaseModel):
    """Recursive: no closed schema can say it."""

    branches: list[Tree] = []


class Anything(BaseModel):
    """Open in several ways."""

    values: dict[str, int]


class Extra(BaseModel):
    """Open to more fields."""

    model_config = ConfigDict(extra="allow")


def fits(value: object, schema: Mapping[str, Any]) -> bool:
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    if "const" in schema:
        return bool(value == schema["const"])
    match schema["type"], value:
        case "object", dict():
            fields = schema["properties"]
            return {*schema["required"]} <= value.keys() <= fields.keys() and all(
                fits(one, fields[name]) for name, one in value.items()
            )
        case "array", list():
            return len(value) >= schema.get("minItems", 0) and all(
                fits(one, schema["items"]) for one in value
            )
        case (
            ("string", str())
            | ("boolean", bool())
            | ("null", None)
            | ("integer", int())
            | ("number", float())
        ):
            return True
    return False


def args_of(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    [found] = [
        one["properties"]["args"]
        for one in schema["properties"]["actions"]["items"]["anyOf"][1:]
        if one["properties"]["name"] == {"const": name}
    ]
    return dict(found)


def test_plain_names_are_sorted_with_the_end_among_them() -> None:
    schema = choice_schema({"Think": None, "Ask": None})
    assert schema["properties"]["actions"]["items"] == {"enum": ["Ask", "DONE", "Think"]}
    assert schema == choice_schema({"Ask": None, "Think": None})
    assert [*schema["properties"]] == schema["required"] == ["why", "actions"]


def test_typed_actions_are_sorted_and_closed() -> None:
    schema = choice_schema({"Think": None, "Look": Look, "Go": Place})
    plain, *typed = schema["properties"]["actions"]["items"]["anyOf"]
    assert plain == {"enum": ["DONE", "Think"]}
    assert [one["properties"]["name"]["const"] for one in typed] == ["Go", "Look"]
    assert json.dumps(schema) == json.dumps(choice_schema({"Go": Place, "Look": Look, "Think": None}))


@pytest.mark.parametrize(
    "actions",
    [{"A": None}, {"Look": Look}, {"Look": Look, "Go": Place, "T": Tree, "X": Anything}, {}],
    ids=str,
)
def test_the_providers_own_rules_change_nothing_in_it(actions: dict[str, type[BaseModel] | None]) -> None:
    schema = choice_schema(actions)
    assert transform_schema(schema) == schema


def test_what_the_grammar_cannot_check_is_described() -> None:
    query = args_of(choice_schema({"Look": Look}), "Look")["properties"]["query"]
    assert query["type"] == "string"
    assert query["description"] == "what to look for {maxLength: 80} {minLength: 2}"


@pytest.mark.parametrize(
    "model",
    [Tree, Anything, Extra, create_model("M", x=(Any, ...)), create_model("M", x=(tuple[int, str], ...))],
)
def test_what_no_closed_schema_can_say_is_asked_for_as_text(model: type[BaseModel]) -> None:
    assert args_of(choice_schema({"X": model}), "X") == AS_TEXT


def counted(schema: Mapping[str, Any]) -> tuple[int, int]:
    found: list[Any] = []

    def keep(one: dict[str, Any]) -> dict[str, Any]:
        found.append(one)
        return one

    json.loads(json.dumps(schema), object_hook=keep)
    optional = sum(
        len(one["properties"]) - len(one["required"]) for one in found if one.get("type") == "object"
    )
    return optional, sum("anyOf" in one for one in found)


@pytest.mark.parametrize("field", [(int, 0), (int | None, ...), (int | None, 0)])
@pytest.mark.parametrize(("models", "size"), [(1, 40), (8, 5), (3, 8), (30, 1)])
def test_what_is_within_the_limits_is_said_and_the_rest_is_text(field: Any, models: int, size: int) -> None:
    model = create_model("M", **{f"x{n}": field for n in range(size)})
    schema = choice_schema({f"A{n}": model for n in range(models)})
    optional, unions = counted(schema)
    assert optional <= 24
    assert unions <= 16
    texts = [args_of(schema, f"A{n}") == AS_TEXT for n in range(models)]
    most = (24 if field[1] == 0 else 99) // size
    most = most if field[0] is int else min(most, 15 // size)
    assert texts.count(False) == min(models, most)


def test_the_enough_of_one_action_leaves_room_for_a_smaller_one() -> None:
    big = create_model("Big", **{f"x{n}": (int, 0) for n in range(30)})  # type: ignore[call-overload]
    schema = choice_schema({"A": big, "B": Place})
    assert args_of(schema, "A") == AS_TEXT
    assert args_of(schema, "B") != AS_TEXT


LOOKS = st.builds(
    Look,
    query=st.text(st.characters(codec="utf-8"), min_size=2, max_size=9),
    where=st.sampled_from(["here", "there"]),
    colours=st.lists(st.sampled_from(Colour), max_size=3),
    place=st.none()
    | st.builds(Place, room=st.text(st.characters(codec="utf-8")), floor=st.none() | st.integers()),
    after=st.none() | st.dates(),
    most=st.integers(1, 9),
)


@given(st.lists(st.sampled_from(["Think", "DONE"]) | LOOKS, min_size=1, max_size=4), st.booleans())
def test_every_choice_that_runs_is_valid_and_is_read(chosen: list[str | Look], short: bool) -> None:
    actions = [
        one
        if isinstance(one, str)
        else {"name": "Look", "args": one.model_dump(mode="json", exclude_defaults=short)}
        for one in chosen
    ]
    reply = {"why": "so", "actions": actions}
    assert fits(reply, choice_schema({"Think": None, "Look": Look}))
    read = [
        Look.model_validate(one.args)
        for one in parse_choice(json.dumps(reply)).actions
        if one.args is not None
    ]
    assert read == [one for one in chosen if isinstance(one, Look)]


@pytest.mark.parametrize(
    "actions",
    [[], ["Unknown"], ["Look"], [{"name": "Look"}], [{"name": "Think"}], [{"name": "Look", "args": {}}]],
)
def test_what_would_be_refused_is_not_valid(actions: list[object]) -> None:
    assert not fits({"why": "so", "actions": actions}, choice_schema({"Think": None, "Look": Look}))


@pytest.mark.parametrize("args", ['{"branches": [{"branches": []}]}', {"branches": [{"branches": []}]}])
async def test_arguments_as_text_arrive_typed(args: object) -> None:
    deeds = Deeds()
    await run(Chooser(choose({"name": "Grow", "args": args}, "DONE")), [deeds.action("Grow", args=Tree)])
    assert deeds.done == [f"Grow {Tree(branches=[Tree()])!r}"]


async def test_the_schema_names_every_action_and_never_changes_during_a_run() -> None:
    deeds = Deeds()
    chooser = Chooser(choose("A"), "what?", choose("A"), choose("DONE"))
    actions = [*deeds.actions("A"), deeds.action("Look", args=Look)]
    await run(chooser, actions)
    assert len(chooser.prompts) == 4
    schema = choice_schema({"A": None, "Look": Look}, described=False)
    assert all(prompt.schema == schema for prompt in chooser.prompts)
    shown = chooser.prompts[0].parts[0].text
    assert "what to look for" in shown
    assert "what to look for" not in str(schema), "it is described once"
    assert "title" not in shown + str(schema)


async def test_a_wording_from_before_is_held_to_the_schema_that_it_shows() -> None:
    deeds = Deeds()
    chooser = Chooser(choose("DONE"))
    before = ChooserTexts(arguments="Arguments, as JSON schema: $schema", alone="")
    await run(chooser, [deeds.action("Look", args=Look)], wording=before)
    [prompt] = chooser.prompts
    assert prompt.schema == choice_schema({"Look": Look})
    assert json.dumps(Look.model_json_schema(), ensure_ascii=False) in prompt.parts[0].text


class Title(BaseModel):
    """Arguments of which one has the name of a word of the schema."""

    title: Annotated[str, Field(description="what it is called")]
    description: str = ""
    parts: list[str] = Field(default=[], description="what it consists of")
    size: int | None = None


def test_arguments_are_said_in_a_line_whatever_they_are_called() -> None:
    parts = "parts? (list of strings): what it consists of"
    assert arguments_in_words(Title) == f"title: what it is called; description?; {parts}; size? (integer)"
    assert '"title": "' not in arguments_in_words(Tree), (
        "what is no plain value is shown as its schema, without titles"
    )
