"""Results of commands in the next request (H13, H14)."""

from __future__ import annotations

import json

import pytest

from daemon.settings.limits import AllowedPrograms
from tests.inner_life.programs.workshop import python
from tests.soak import SOAK, shared
from tests.stories.stage import Stage
from tests.stories.ticking import Shown, do, does, live, shown, thinks, tick, unlike

ADD = '{"cmd_id": "a", "type": "llm_memory.add", "args": {"text": "Bees hum."}}'
ADD_TOO = '{"cmd_id": "b", "type": "llm_memory.add", "args": {"text": "Rain falls."}}'


async def after(stage: Stage, answer: str) -> Shown:
    stage.model.say(answer)
    await tick(stage)
    thinks(stage, unlike(len(shown(stage))))
    return await tick(stage)


RUN = {
    "lines": f"Well.\n\n# Commands:\n{ADD}\n{ADD_TOO}\n# End of commands",
    "russian": f"Итак.\n\n# Команды:\n{ADD}\n{ADD_TOO}\n# Конец команд",
    "a marker of each language": f"# Команды:\n{ADD}\n{ADD_TOO}\n# End of commands",
    "a list": f"# Commands:\n[{ADD},\n{ADD_TOO}]\n# End of commands",
    "a block": f"Well.\n```json\n[{ADD}, {ADD_TOO}]\n```",
    "a block with its name": f'```json\n{{"commands": [{ADD}, {ADD_TOO}]}}\n```',
    "two sections": f"# Commands:\n{ADD}\n# End of commands\nAnd:\n# Commands:\n{ADD_TOO}\n# End of commands",
}


@pytest.mark.parametrize("way", shared(RUN, 4))
async def test_commands_are_read_in_each_form(alive: Stage, way: str) -> None:
    asked = await after(alive, RUN[way])
    assert asked.context(6).count("Bees hum.") == 1
    assert asked.context(6).count("Rain falls.") == 1
    assert 'done="no"' not in asked.text


WARNED = {
    "unclosed": (
        f"Well.\n# Commands:\n{ADD}",
        "The commands are not closed, so they were read to the end",
        6,
    ),
    "unclosed block": (f"```json\n{ADD}", "The block of commands is not closed", 0),
}


@pytest.mark.parametrize("case", WARNED)
async def test_what_is_not_closed_is_carried_out_with_a_warning(alive: Stage, case: str) -> None:
    answer, why, position = WARNED[case]
    asked = await after(alive, answer)
    assert "Bees hum." in asked.context(6)
    assert why in asked.context(2)
    assert f"(character {position}: " in asked.context(2)


FORM = 'Its form: llm_memory.add {"text": text}'
SECTION = "# Commands:\n{}\n# End of commands"
REFUSED = {
    "unknown type": (
        '{"cmd_id": "a", "type": "diary.ad"}',
        'There is no command "diary.ad": is it diary.add',
        12,
    ),
    "no type": ('{"cmd_id": "a"}', "Its type is missing", 12),
    "bad arguments": ('{"type": "llm_memory.add", "args": {"words": "x"}}', FORM, 12),
    "no arguments": ('{"type": "llm_memory.add"}', FORM, 12),
    "args that are no object": ('{"type": "llm_memory.add", "args": []}', "Its args are an object", 12),
    "a strange key": ('{"type": "llm_memory.add", "text": "x"}', "No command has", 12),
    "broken": ('{"cmd_id": "a", "type": "llm_memory.add", "args": {"text": "x"}', FORM, 0),
    "an ambiguous alias": (
        '{"type": "graph_add", "args": {}}',
        "graph_add may mean concepts.add or links.add",
        12,
    ),
    "a number that is none": ('{"type": "notes.list", "args": {"since": "nan"}}', "finite number", 12),
}
"""Command, error in the next request, position."""


@pytest.mark.parametrize("case", shared(REFUSED, 4))
async def test_what_cannot_be_read_is_told_with_its_place_and_form(alive: Stage, case: str) -> None:
    written, why, position = REFUSED[case]
    asked = await after(alive, SECTION.format(f"{written}\n{ADD_TOO}"))
    assert why in asked.context(2)
    assert f"(character {position or ''}" in asked.context(2)
    assert 'done="no"' in asked.context(2)
    assert "Rain falls." in asked.context(6), "what stands beside it is carried out"


@SOAK
async def test_of_two_commands_of_one_name_the_second_is_refused(alive: Stage) -> None:
    asked = await after(alive, SECTION.format(f"{ADD}\n{ADD_TOO.replace(chr(34) + 'b', chr(34) + 'a')}"))
    assert "Bees hum." in asked.context(6)
    assert "Rain falls." not in asked.context(6)
    assert "The cmd_id a stands twice in this answer" in asked.context(2)


NOT_RUN = {
    "in a code fence": f"So one writes:\n```\n# Commands:\n{ADD}\n# End of commands\n```",
    "in a quotation": f"> # Commands:\n> {ADD}\n> # End of commands",
    "in prose": f"I might write {ADD} some day.",
    "in another model's thoughts": f"<think>\n# Commands:\n{ADD}\n# End of commands\n</think>\nWell.",
    "data": '```json\n{"text": "llm_memory.add"}\n```',
}


@pytest.mark.parametrize("way", shared(NOT_RUN, 3))
async def test_what_is_only_spoken_of_is_not_carried_out(alive: Stage, way: str) -> None:
    stage = alive
    asked = await after(stage, NOT_RUN[way])
    assert asked.context(6) == "none"
    assert not [one for one in stage.entries("command") if one.event.ok]


@SOAK
async def test_a_command_is_known_by_its_tick_and_its_name(alive: Stage) -> None:
    stage = alive
    asked = await after(stage, SECTION.format(ADD))
    [first, _] = shown(stage)
    assert f'<result of="llm_memory.add" id="{first.setting("tick")}/a" done="yes">' in asked.context(2)
    thinks(stage, unlike(77))
    assert "<result" not in (await tick(stage)).context(2), "it is told once"


# Help


async def test_help_explains_all_a_family_or_one(alive: Stage) -> None:
    asked = await does(alive, do("help", type="cycle"))
    told = asked.results["help"][1].splitlines()
    assert [line.split()[0].rstrip(":") for line in told] == [
        "cycle.responses",
        "cycle.mode",
        "cycle.filter",
        "cycle.pause",
        "cycle.idle",
    ]
    asked = await does(alive, do("help", type="diary.add"))
    assert asked.results["help"] == (
        "yes",
        'diary.add {"text": text, "tags"?: [text, …]}: Write something in your diary.\n'
        "Also called diary_entry.\n"
        "- `text` (text, at most 4000 characters): what to keep, so that it can be understood alone\n"
        "- `tags` ([text, …], at most 20 of them, may be left out): words to find it by",
    )
    asked = await does(alive, do("help"))
    assert "mesh.share" in asked.results["help"][1]
    asked = await does(alive, do("help", type="diry"))
    assert asked.results["help"][0] == "no"
    assert "There is no command diry" in asked.results["help"][1]


# The seed's names


@SOAK
async def test_the_names_of_the_seed_mean_the_same(asleep: Stage) -> None:
    stage = asleep
    folder = stage.home.parent / "library"
    folder.mkdir()
    (folder / "lift.md").write_text("Lift\n\nThe lift needs oil each spring.\n")
    await live(
        stage,
        knowledge_dirs=(folder,),
        process_commands=AllowedPrograms({"it": python("print(1)")}),
    )
    asked = await does(
        stage,
        do("diary_entry", text="Spring."),
        do("graph_add", name="Lift", description="It sticks."),
        do("graph_add", name="Rain", description="It falls."),
        do("graph_add", from_="Rain", to="Lift", relation="stops"),
        do("shell", name="it"),
        do("files.search", query="oil spring"),
        do("send_message", to="Nobody", text="Hello."),
    )
    done = {name: done for name, (done, _) in asked.results.items()}
    assert done == {
        "diary.add": "yes",
        "concepts.add": "yes",
        "links.add": "yes",
        "process.start": "yes",
        "files.search": "yes",
        "message.send": "no",
    }
    found = asked.results["files.search"][1]
    assert "The lift needs oil" in found
    path = next(one.event.text for one in stage.entries("command") if one.event.name == "files.search")
    asked = await does(stage, do("file_read", path=path_in(path)))
    assert "The lift needs oil each spring." in asked.results["files.read"][1]


def path_in(found: str) -> str:
    words = json.dumps(found).replace("\\n", " ").replace(":", " ").replace('"', " ").split()
    return next(word for word in words if word.endswith("lift.md"))


async def test_nothing_can_be_read_where_the_owner_gave_nothing_to_know(alive: Stage) -> None:
    asked = await does(alive, do("file_read", path="/etc/hostname"))
    assert "There is no command" in asked.context(2)
