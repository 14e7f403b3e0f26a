"""The doctor in the rehearsal world, with the real SDKs."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from config import Settings
from daemon.app.check import Finding, finding_line
from daemon.app.doctor import MOST_VERIFIED, app_link, examine_disk, examine_python, settings_findings
from daemon.settings.home import project_root, restrict_permissions
from daemon.settings.limits import FREE_PRICE
from rehearsal.people import ECHO, SOUL
from tests.app.forgery import opened
from tests.attention import PATIENCE
from tests.clock import FakeClock
from tests.soak import SOAK, later
from tests.stories.process import into, running, start, start_anew
from tests.stories.stage import ALICE, Stage, staged


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


def settings(world: Stage, **others: Any) -> Settings:
    values: dict[str, Any] = {
        "slack_bot_token": SOUL.bot_token,
        "slack_app_token": SOUL.app_token,
        "slack_api_url": f"{world.url}/api/",
        "anthropic_api_key": "sk-ant-secret",
        "anthropic_base_url": world.url,
        "port": 0,
        "soul_home": world.home,
    }
    return Settings(**values | others)


async def found(world: Stage, **others: Any) -> dict[str, Finding]:
    return {one.name: one async for one in settings_findings(settings(world, **others), FakeClock())}


async def ill(world: Stage, **others: Any) -> str:
    """Return the only finding that is ill."""
    [wrong] = [one for one in (await found(world, **others)).values() if not one.ok]
    assert finding_line(wrong).startswith("✗ ")
    return f"{wrong.name}: {wrong.said}"


async def test_all_is_well(world: Stage) -> None:
    seen = await found(world)
    assert [name for name, one in seen.items() if not one.ok] == []
    assert [*seen] == [
        "texts",
        "disk",
        "modes",
        "page",
        "journal",
        "port",
        "sandbox",
        "processes",
        "prices",
        "windows",
        "form",
        "claude",
        "models",
        "bot token",
        "scopes",
        "agent",
        "app token",
        "sockets",
    ]
    assert seen["claude"].said.startswith("claude-sonnet-5-5 answered in 0.0 s, for $0.00")
    assert seen["bot token"].said == "Claudius, in the workspace T0REHEARSAL"
    assert [request["messages"][0]["content"][0]["text"] for request in world.model.requests] == ["Hello."]


async def test_a_daemon_that_lives_holds_its_port_and_its_journal(world: Stage) -> None:
    await world.wake()
    await world.say("alice", ALICE, "Hello")
    port = urlsplit(world.soul.url).port
    seen = await found(world, port=port)
    assert [name for name, one in seen.items() if not one.ok] == []
    assert seen["port"].said == f"{port} is held by this daemon, which lives and is well"
    assert " entries, clean; pending: nothing; held by process " in seen["journal"].said


async def test_a_daemon_that_lives_and_hears_nothing_is_ill(world: Stage) -> None:
    await world.wake()
    await world.soul.slack.stop()
    said = await ill(world, port=urlsplit(world.soul.url).port)
    assert "is held by this daemon, which is not well: {'ok': False" in said


async def test_a_port_that_another_holds_is_ill(world: Stage) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert f"port: PORT {port} on this HOST cannot be used" in await ill(world, port=port)


@SOAK
async def test_a_port_that_a_daemon_of_another_journal_holds_is_ill(world: Stage, tmp_path: Path) -> None:
    await world.wake()
    port = urlsplit(world.soul.url).port
    assert "port: PORT" in await ill(world, port=port, soul_home=tmp_path / "elsewhere")


async def test_a_bot_token_that_is_refused_is_named(world: Stage) -> None:
    said = await ill(world, slack_bot_token="xoxb-wrong")
    assert said.startswith("bot token: SLACK_BOT_TOKEN was refused by ")
    assert "(invalid_auth): copy the bot token" in said


async def test_an_app_token_that_is_refused_is_named(world: Stage) -> None:
    said = await ill(world, slack_app_token="xapp-wrong")
    assert said.startswith("app token: SLACK_APP_TOKEN was refused by ")
    assert "connections:write" in said


async def test_missing_scopes_are_named(world: Stage) -> None:
    said = await ill(world, slack_bot_token=ECHO.bot_token)
    assert said.startswith(
        "scopes: assistant:write, files:read, reactions:read, usergroups:read are missing. Add them at https"
    )


async def test_a_missing_scope_for_user_groups_is_a_remark(world: Stage) -> None:
    world.world.faults.switch("missing-scope", scope="usergroups:read")
    seen = (await found(world))["scopes"]
    assert (seen.ok, seen.doubtful) == (True, True)
    assert seen.said.startswith("usergroups:read is missing, so no user group (S…) can approve calls")


async def test_an_app_that_is_no_agent_is_named(world: Stage) -> None:
    world.wire.refuse["agents.sessions.setStatus"] = ["not_authorized"]
    said = await ill(world)
    assert said.startswith("agent: Slack refuses agents.sessions.setStatus (not_authorized).")
    assert "features.agent_view" in said


async def test_another_daemon_on_the_same_app_is_named(world: Stage, tmp_path: Path) -> None:
    await world.wake()
    said = await ill(world, soul_home=tmp_path / "another")
    assert said.startswith("sockets: Slack counts 2 sockets of this app that are not ours")
    assert "sockets" not in await found(world), "this daemon says so itself, in its health"


async def test_a_slack_that_is_not_there_is_said_so(world: Stage) -> None:
    seen = await found(world, slack_api_url="http://127.0.0.1:9/api/")
    for name in ("bot token", "app token"):
        assert seen[name].said.startswith(
            "Slack cannot be reached (ClientConnectorError at http://127.0.0.1:9"
        )
        assert not seen[name].ok


@SOAK
async def test_a_slack_that_is_down_refuses_no_token(world: Stage) -> None:
    world.wire.garbled |= {"auth.test", "apps.connections.open"}
    async with asyncio.timeout(PATIENCE):  # it is asked once
        seen = await found(world)
    for name in ("bot token", "app token"):
        assert seen[name].said.startswith("Slack cannot be reached (no answer of Slack's at ")
        assert not seen[name].ok
    assert "scopes" not in seen


@pytest.mark.parametrize(
    ("status", "kind", "fix"),
    [
        later(400, "invalid_request_error", "(bad-request). Is CLAUDE_MODEL the name of a model there?"),
        (401, "authentication_error", "(unauthorized). Claude does not take ANTHROPIC_API_KEY. Get a key at"),
        later(402, "billing_error", "(no-credit). The account of ANTHROPIC_API_KEY has no credit left"),
        later(
            404, "not_found_error", "(unknown-model). There is no model claude-sonnet-5-5 for this account"
        ),
    ],
)
async def test_a_claude_that_refuses_is_told_with_the_fix(
    world: Stage, status: int, kind: str, fix: str
) -> None:
    world.model.fail(status, kind)
    assert fix in await ill(world)


async def test_at_a_budget_of_nothing_claude_is_not_asked(world: Stage) -> None:
    assert (await found(world, budget_daily_usd=0.0))[
        "claude"
    ].said == "not asked, since BUDGET_DAILY_USD is 0"
    assert not world.model.requests


async def test_it_says_what_each_model_costs_and_takes(world: Stage) -> None:
    seen = await found(
        world, claude_model="qwen3:8b", model_prices=(("qwen3:8b", FREE_PRICE),), model_window=(("", 16_000),)
    )
    assert "answered in" in seen["claude"].said
    assert seen["claude"].said.endswith("for nothing")
    assert seen["prices"].said.startswith("qwen3:8b free, claude-haiku-5-5 0.1/0.5/0.01 (input/output/cached")
    assert seen["windows"].said == "qwen3:8b 16,000 tokens; claude-haiku-5-5 1,000,000 tokens"


async def test_a_model_of_which_nobody_says_its_window_is_told_with_the_setting(world: Stage) -> None:
    seen = await found(world, claude_model="qwen3:8b", model_prices=(("qwen3:8b", FREE_PRICE),))
    assert "in plain words where a model does not keep them" in seen["form"].said
    assert "qwen3:8b 128,000 tokens, as nobody says it: set MODEL_WINDOW" in seen["windows"].said


async def test_a_price_of_a_model_that_is_misspelt_is_ill(world: Stage) -> None:
    wrong = await ill(world, model_prices=(("claude-sonet-5-5", FREE_PRICE),))
    assert wrong.startswith("unused: MODEL_PRICES names claude-sonet-5-5, and no setting names such a model")
    assert wrong.endswith("is it claude-sonnet-5-5?")
    assert (await found(world, model_window=(("llama", 16_000),)))["unused"].ok


async def test_a_budget_that_is_smaller_than_one_call_is_ill(world: Stage) -> None:
    assert (await ill(world, budget_daily_usd=0.01)).startswith("budget: no call is made")


@SOAK
async def test_a_journal_that_is_none_or_breaks_a_rule_is_ill(world: Stage, journal: Path) -> None:
    world.home.mkdir(mode=0o700)
    (world.home / "journal.db").write_text("Dear diary, " * 1000)
    restrict_permissions(world.home)
    assert "cannot be read as a journal (file is not a database)" in await ill(world)
    with opened(journal) as copy:
        seq = copy.seqs("spoken")[0]
        copy.db.execute("delete from entry where seq = ?", (seq,))
    shutil.move(journal, world.home / "journal.db")
    restrict_permissions(world.home)
    assert "`python -m daemon verify` lists all" in await ill(world)


async def test_a_very_long_journal_is_left_to_verify(world: Stage, journal: Path) -> None:
    with opened(journal) as copy:
        copy.db.execute(
            "update entry set seq = ? where seq = (select max(seq) from entry)", (MOST_VERIFIED + 1,)
        )
    world.home.mkdir(mode=0o700)
    shutil.move(journal, world.home / "journal.db")
    restrict_permissions(world.home)
    assert (await found(world))["journal"].said.endswith("`python -m daemon verify` looks at them all")


async def test_a_folder_that_cannot_be_written_is_ill(world: Stage) -> None:
    assert (await ill(world, soul_home=Path("/proc/sys/soul"))).startswith(
        "disk: /proc/sys cannot be written"
    )


def test_a_disk_that_is_nearly_full_is_ill(tmp_path: Path) -> None:
    assert examine_disk(tmp_path).ok
    assert "Make room" in examine_disk(tmp_path, 2**60).said


def test_an_old_python_is_ill() -> None:
    assert examine_python((3, 11, 7)).ok
    assert not examine_python((3, 10, 14)).ok


def test_the_link_makes_the_app_of_the_manifest() -> None:
    link = app_link("Ada Lovelace")
    asked = parse_qs(urlsplit(link).query)
    assert link.startswith("https://api.slack.com/apps?new_app=1&manifest_json=%7B")
    manifest = json.loads((project_root() / "manifest.json").read_text())
    manifest["display_information"]["name"] = "Ada Lovelace"
    manifest["features"]["bot_user"]["display_name"] = "Ada Lovelace"
    assert json.loads(asked["manifest_json"][0]) == manifest
    assert len(link) < 4000, "a link must fit into an address bar"


async def test_as_a_command_it_says_a_line_each_and_no_link_once_an_app_is_connected(tmp_path: Path) -> None:
    async with running(tmp_path / "world", "rehearse") as (_, url):
        secret = {"ANTHROPIC_API_KEY": "sk-ant-secret"}
        process = await start(tmp_path / "soul", "doctor", **into(url) | secret)
        out, err = await process.communicate()
    lines = out.decode().splitlines()
    assert (process.returncode, err) == (0, b""), out.decode()
    assert [text[:2] for text in lines] == ["✓ "] * 20
    for word in ("secret", "new_app", SOUL.bot_token, SOUL.app_token):
        assert word not in out.decode()


async def test_each_bad_key_is_a_line_also_for_a_program(tmp_path: Path) -> None:
    process = await start(tmp_path, "doctor", "--json", PORT="many", BUDGET_DAILY_USD="-1", HOST="0.0.0.0")
    out, _ = await process.communicate()
    said = json.loads(out)
    wrong = [one["said"].split()[0] for one in said["findings"] if not one["ok"]]
    assert process.returncode == 1
    assert said["ok"] is False
    assert said["create_app"].startswith("https://api.slack.com/apps?new_app=1"), "no app is connected"
    assert wrong == ["PORT", "BUDGET_DAILY_USD", "CONSOLE_TOKEN"]


async def test_doctor_prints_every_line_in_a_terminal_that_knows_ascii_only(tmp_path: Path) -> None:
    process = await start_anew(tmp_path, "doctor", PYTHONIOENCODING="ascii", PORT="0")
    out, err = await process.communicate()
    *lines, _, link = out.decode("ascii").splitlines()
    assert (process.returncode, err) == (0, b"")
    assert {line[:3] for line in lines} == {"ok "}
    assert link.startswith("https://api.slack.com/apps")


@pytest.mark.parametrize("command", ["doctor", "check"])
async def test_a_report_that_nobody_reads_to_its_end_ends_in_silence(tmp_path: Path, command: str) -> None:
    closed = ("sh", "-c", '"$@" | true', "sh")
    process = await start_anew(tmp_path, command, within=closed)
    assert await process.communicate() == (b"", b"")


async def test_a_token_that_others_could_guess_is_told_with_how_to_make_a_better_one(tmp_path: Path) -> None:
    process = await start(tmp_path, "doctor", HOST="0.0.0.0", CONSOLE_TOKEN="guess me")
    out, _ = await process.communicate()
    [told] = [line for line in out.decode().splitlines() if line.startswith("✗")]
    assert "CONSOLE_TOKEN is shorter than 20 characters" in told
    assert "secrets.token_urlsafe(32)" in told
    assert "guess me" not in out.decode()


async def test_it_finds_a_misspelt_key(tmp_path: Path) -> None:
    process = await start(tmp_path, "doctor", "--json", BUDGET_DAYLY_USD="1")
    out, _ = await process.communicate()
    wrong = [one["said"] for one in json.loads(out)["findings"] if not one["ok"]]
    assert process.returncode == 1
    assert wrong == ["BUDGET_DAYLY_USD in the environment is read by nobody: is it BUDGET_DAILY_USD?"]


async def test_it_finds_a_word_that_leaves_the_ism_off(tmp_path: Path) -> None:
    process = await start(tmp_path, "doctor", "--json", ISM_ENABLED="on")
    out, _ = await process.communicate()
    [wrong] = [one["said"] for one in json.loads(out)["findings"] if not one["ok"]]
    assert wrong.startswith("ISM_ENABLED is neither true nor false (on), and counts as false")


async def test_a_key_of_openais_without_an_address_is_told(tmp_path: Path) -> None:
    settings = Settings(soul_home=tmp_path, port=0, openai_api_key="sk-1")
    seen = {one.name: one.said async for one in settings_findings(settings, FakeClock())}
    assert seen["claude"].endswith("OPENAI_API_KEY alone asks nobody, set OPENAI_BASE_URL, too")


async def test_without_any_key_it_says_what_is_rehearsed(tmp_path: Path) -> None:
    seen = [
        finding_line(one)
        async for one in settings_findings(Settings(soul_home=tmp_path, port=0), FakeClock())
    ]
    assert seen[-2:] == [
        "✓ claude     rehearsed by a script; for Claude, set ANTHROPIC_API_KEY",
        "✓ slack      rehearsed on this machine; for Slack, set SLACK_BOT_TOKEN and SLACK_APP_TOKEN",
    ]
