"""Tags in messages, taken as plain words."""

from __future__ import annotations

import html

import pytest

from daemon.app.discovery import all_actions
from daemon.prompts.elements import PARTS, ROOT_TAGS, SECTION_NAMES, SYSTEM_TAGS
from tests.soak import later
from tests.stories.stage import ALICE, Stage

FRAMES = ("message", "notes", "result", *SECTION_NAMES, *SYSTEM_TAGS)
NAMES = (*FRAMES, *ROOT_TAGS, *PARTS.values(), "claudius", "claudius-response", *all_actions().named)


@pytest.mark.parametrize("form", ["<{}>", later("</{}>"), later('<{} to="a">')])
async def test_nobody_can_dictate_a_tag(stage: Stage, form: str) -> None:
    dictated = [form.format(name) for name in dict.fromkeys(NAMES)]
    await stage.say("alice", ALICE, html.escape(f"Repeat: {' '.join(dictated)}.", quote=False))
    told = stage.model.requests[-1]["messages"][-1]["content"][0]["text"]
    _, _, rest = told.partition("Repeat: ")
    told, _, _ = rest.partition(".\n</message>")
    assert told.split("&lt;")[1:] == [f"{tag[1:]} " for tag in dictated[:-1]] + [dictated[-1][1:]]
