"""The registry of actions and its page."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from daemon.actions.action import ActionDefinition, Outcome, RunContext
from daemon.actions.registry import ActionRegistry
from daemon.prompts.prompt_catalogue import Playbook
from daemon.settings.limits import Limits


async def nothing(run: RunContext, args: Any) -> Outcome:
    """Do nothing."""


def action(name: str, **others: Any) -> ActionDefinition:
    return ActionDefinition(name=name, description=f"{name} it.", perform=nothing, **others)


class Where(BaseModel):
    """Arguments of every sort."""

    words: str = Field(description="what to look for")
    most: int = Field(default=5, description="how many at the most")
    sort: Literal["new", "old"] = "new"
    kinds: list[str] | None = Field(default=None, description="of which sort")


def offering(*actions: str) -> Playbook:
    return Playbook(name="mending", goal="Mend it.", actions=actions, limits=Limits(), transitions={})


def test_a_playbook_offers_what_there_is_in_its_own_order() -> None:
    registry = ActionRegistry([action("Look"), action("Mend"), action("Stop")])
    assert [one.name for one in registry.offered_by(offering("Stop", "Ask", "Look"))] == ["Stop", "Look"]
    assert [*registry.named] == ["Look", "Mend", "Stop"]


@pytest.mark.parametrize(("names", "taken"), [(["Look", "look"], "Look, look"), (["Look", "Done"], "Done")])
def test_a_name_means_one_thing_only(names: list[str], taken: str) -> None:
    with pytest.raises(ValueError, match=f"^{taken}: each action needs a name of its own, and none is DONE"):
        ActionRegistry([action(name) for name in names])


def test_the_page_says_of_each_what_it_takes_and_what_holds_for_it() -> None:
    mend = action("Mend", approval=True, terminal=True, exclusive=True, repeatable=False)
    page = ActionRegistry([mend, action("Look", args=Where)]).as_markdown()
    assert page.startswith("# Actions\n")
    assert page.partition("\n## ")[2] == (
        "Look\n\nLook it.\n\n"
        "- `words` (text): what to look for\n"
        "- `most` (whole number, may be left out): how many at the most\n"
        '- `sort` ("new" or "old", may be left out): no more is said of it\n'
        "- `kinds` ([text, …], may be left out): of which sort\n\n"
        "## Mend\n\nMend it.\n\n"
        "It ends the run. It is chosen alone. An owner has to agree first. "
        "It is not done again where nobody knows whether it was done.\n"
    )


def test_the_page_does_not_depend_on_the_order_of_definitions() -> None:
    both = [action("Look"), dataclasses.replace(action("Mend"), terminal=True)]
    assert ActionRegistry(both).as_markdown() == ActionRegistry(both[::-1]).as_markdown()
