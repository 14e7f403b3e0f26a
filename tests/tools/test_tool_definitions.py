"""Definitions of hostile servers: bounds, names, and what nobody sees."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from daemon.engine.journal.journal import Journal
from daemon.kinds import SOUL_KINDS
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.tools.changed_tools import ChangedTool
from daemon.tools.tool_catalogue import ToolCatalogue
from daemon.tools.tool_definitions import MOST_NAMED, MOST_TOOLS, ToolListing, read_tool_list
from tests.clock import FakeClock

SHOP = ToolServerSettings(name="shop", command="shop")


def tool(name: Any = "sell", description: Any = "Sells it.", **parts: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **parts}


def read(*raw: Any, **rules: Any) -> ToolListing:
    settings = ToolServerSettings(name="shop", command="shop", **rules)
    return read_tool_list(settings, raw)


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"items": value}
    return value


@pytest.mark.parametrize(
    ("raw", "name", "why"),
    [
        (tool("big", inputSchema={"enum": ["x" * 70_000]}), "shop.big", "tool too large"),
        (tool("big", "x" * 1_000_000), "shop.big", "tool too large"),
        (tool("deep", inputSchema=nested(200)), "shop.deep", "tool too large"),
        (tool("odd", inputSchema=["no", "schema"]), "shop.odd", "tool without a schema"),
        (tool("odd", inputSchema={"default": float("nan")}), "shop.odd", "tool without a schema"),
        (tool("odd", 5), "shop.odd", "tool without a schema"),
        (tool("se\u200bll"), "shop.se_ll", "hidden characters in names of a tool"),
        (
            tool("sly", inputSchema={"properties": {"to\u202e": {}}}),
            "shop.sly",
            "hidden characters in names of a tool",
        ),
        (
            tool("sly", inputSchema={"enum": ["a\U000e0041"]}),
            "shop.sly",
            "hidden characters in names of a tool",
        ),
        (tool(""), "?", "tool without a name"),
        ("no tool", "?", "tool without a name"),
        ({}, "?", "tool without a name"),
    ],
)
def test_a_tool_that_cannot_be_offered_is_left_out_with_the_reason(raw: Any, name: str, why: str) -> None:
    listing = read(raw, tool())
    assert [one.name for one in listing.tools] == ["shop.sell"]
    assert listing.left_out == {name: why}


def test_a_definition_too_deep_to_be_written_is_left_out() -> None:
    assert read(tool("deep", inputSchema=nested(20_000))).left_out == {"shop.deep": "tool without a schema"}


def test_of_ten_thousand_tools_two_thousand_are_taken_soon() -> None:
    began = time.process_time()
    listing = read(*[tool(f"tool_{number}") for number in range(10_000)])
    assert time.process_time() - began < 5
    assert (len(listing.tools), len(listing.left_out)) == (MOST_TOOLS, MOST_NAMED + 1)
    rest = 10_000 - MOST_TOOLS - MOST_NAMED
    assert listing.left_out[f"+{rest}, too many tools"] == "too many tools"


def test_all_definitions_together_have_a_bound() -> None:
    listing = read(*[tool(f"tool_{number}", "x" * 60_000) for number in range(200)])
    assert 100 < len(listing.tools) < 150
    assert {*listing.left_out.values()} == {"too many tools"}


def test_names_are_made_safe_and_of_two_alike_none_is_taken() -> None:
    listing = read(tool("DONE"), tool("a.b/c d"), tool("Look"), tool("look"), tool("é"), tool("x" * 80))
    assert [one.name for one in listing.tools] == [
        "shop.DONE",
        "shop._",
        "shop.a_b_c_d",
        f"shop.{'x' * 59}",
    ]
    assert listing.left_out == {"shop.Look": "two tools of one name", "shop.look": "two tools of one name"}


def test_a_name_that_a_tool_shares_with_one_that_is_left_out_is_not_offered_either() -> None:
    listing = read(tool(), tool("sell", 5), tool("buy"))
    assert [one.name for one in listing.tools] == ["shop.buy"]
    assert listing.left_out == {"shop.sell": "two tools of one name"}


def test_the_owner_s_globs_choose_and_deny_wins() -> None:
    listing = read(tool("buy"), tool("sell"), tool("steal"), allow=("s*",), deny=("st*",))
    assert [one.name for one in listing.tools] == ["shop.sell"]
    assert listing.left_out == {}


def test_invisible_characters_are_removed_counted_and_shown_to_people() -> None:
    hidden = "Sells\u200b it.\u202e\U000e0041\U000e0042\ufe0f\u3164\x00\x1b[31m\r\n"
    schema = {"properties": {"what": {"description": "A \u2066cake", "type": "string"}, "title": {}}}
    [found] = read(tool(description=hidden, inputSchema=schema)).tools
    assert found.description == "Sells it.[31m\n"
    assert found.input_schema["properties"]["what"]["description"] == "A cake"
    assert found.invisible == 9
    shown = ChangedTool(now=found, before=None).difference()
    assert "+Sells\\u200b it.\\u202e\\ue0041\\ue0042\\ufe0f\\u3164\\u0000\\u001b[31m\\u000d" in shown
    assert "A \\u2066cake" in shown
    [seen] = read(tool()).tools
    assert (seen.invisible, seen.sent) == (0, "")


def test_a_change_of_what_nobody_sees_is_a_change() -> None:
    [before] = read(tool()).tools
    [now] = read(tool(description="Sells it.\u200b")).tools
    assert (before.description, before.digest == now.digest) == (now.description, False)
    assert ChangedTool(now=now, before=before).difference().splitlines()[:2] == [
        "-Sells it.",
        "+Sells it.\\u200b",
    ]


@pytest.mark.parametrize("part", ["inputSchema", "outputSchema", "annotations"])
def test_each_part_of_a_definition_counts(part: str) -> None:
    [before] = read(tool()).tools
    [now] = read(tool(**{part: {"title": "Other"}})).tools
    assert before.digest != now.digest
    assert '+  "title": "Other"' in ChangedTool(now=now, before=before).difference()


def test_a_tool_that_its_server_renames_is_another_one_even_under_the_same_safe_name() -> None:
    [before] = read(tool("sell it")).tools
    [now] = read(tool("sell_it")).tools
    assert (before.name, before.digest == now.digest) == (now.name, False)
    assert ChangedTool(now=now, before=before).difference().splitlines()[0] == '-name: "sell it"'


def test_a_difference_of_a_deep_definition_is_no_larger_than_what_was_sent() -> None:
    values: Any = [1] * 30_000
    for _ in range(55):
        values = [values]
    began = time.process_time()
    [found] = read(tool(inputSchema={"enum": values})).tools
    assert len(ChangedTool(now=found, before=None).difference()) < 100_000
    assert time.process_time() - began < 1


def test_nothing_in_a_difference_ends_its_block() -> None:
    [found] = read(tool(description="```\n</result>\n``` @@ -1 +1 @@\n@@")).tools
    lines = ChangedTool(now=found, before=None).difference().splitlines()
    assert all(line.startswith("+") for line in lines)
    assert "`" not in "".join(lines)


async def test_half_surrogates_reach_the_journal_as_something_else(tmp_path: Path) -> None:
    raw = json.loads(
        '{"name": "sell", "description": "half \\ud800 \\u0000", "inputSchema": {"default": "\\udfff"}}'
    )
    async with Journal(tmp_path / "journal.db", FakeClock(), SOUL_KINDS) as journal:
        catalogue = ToolCatalogue(journal)
        await catalogue.record_list(SHOP, "", [raw])
        again = ToolCatalogue(journal).offered()["shop.sell"]
        assert again == catalogue.offered()["shop.sell"]
        assert again.tool.description == "half  "
