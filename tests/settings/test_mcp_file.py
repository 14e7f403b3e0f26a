"""mcp.json: servers of other clients' files, our rules, and faults that leave one server out."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from daemon.settings.mcp_file import read_mcp_file
from daemon.settings.mcp_servers import ToolServersFile

VALUES = {
    "PATH": os.environ["PATH"],
    "GITHUB_TOKEN": "hush-token",
    "EMPTY": "",
    "SLACK_BOT_TOKEN": "xoxb-own-key",
}
OWN = ("SLACK_BOT_TOKEN", "ANTHROPIC_API_KEY")
WELL = {"command": "sh"}


def write(folder: Path, content: object) -> Path:
    path = folder / "mcp.json"
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    path.chmod(0o644)
    return path


def read(folder: Path, content: object) -> ToolServersFile:
    return read_mcp_file(write(folder, content), VALUES, OWN)


def read_one(folder: Path, server: Any) -> ToolServersFile:
    """Read a file with the server `it` and a sound one."""
    return read(folder, {"mcpServers": {"it": server, "well": WELL}})


def test_a_file_of_other_clients_works_unchanged(tmp_path: Path) -> None:
    headers = {"Authorization": "Bearer ${GITHUB_TOKEN}"}
    found = read(
        tmp_path,
        {
            "mcpServers": {
                "github": {"type": "http", "url": "https://x.example/mcp", "headers": headers},
                "files": {
                    "command": "sh",
                    "args": ["-c", "exit ${CODE:-3}", ""],
                    "env": {"A": ""},
                    "cwd": ".",
                },
            }
        },
    )
    assert (found.faults, found.remarks) == ([], [])
    github, files = found.servers["github"], found.servers["files"]
    assert github.headers == {"Authorization": "Bearer hush-token"}
    assert (github.trusted, github.approvers, github.approval) == (False, ("owner",), (("*", "writes"),))
    assert (files.args, files.env, files.cwd) == (("-c", "exit 3", ""), {"A": ""}, str(tmp_path))


def test_our_own_keys_stand_in_soul(tmp_path: Path) -> None:
    soul = {
        "trusted": True,
        "tools": {"allow": ["get_*"], "deny": ["get_secret"]},
        "approval": {"get_*": "never", "drop_*": "always"},
        "approvers": ["owner", "asker", "S0HELPERS"],
        "channels": ["#support", "C0123456789", "dm"],
        "outsiders": True,
        "timeout": "5m",
        "start_timeout": 2.5,
        "sandbox": True,
    }
    found = read_one(tmp_path, {**WELL, "soul": soul})
    assert found.faults == []
    it = found.servers["it"]
    assert (it.trusted, it.outsiders, it.sandbox, it.timeout, it.start_timeout) == (
        True,
        True,
        True,
        300,
        2.5,
    )
    assert (it.allow, it.deny) == (("get_*",), ("get_secret",))
    assert it.approval == (("get_*", "never"), ("drop_*", "always"), ("*", "writes"))
    assert it.approvers == ("owner", "asker", "S0HELPERS")
    assert it.channels == ("support", "C0123456789", "dm")


def test_keys_of_other_clients_are_named_and_ignored(tmp_path: Path) -> None:
    foreign = {"autoApprove": ["*"], "timeout": 60, "disabled": False, "header": {}}
    found = read(tmp_path, {"inputs": [], "mcpServers": {"it": {**WELL, **foreign}}})
    assert found.faults == []
    assert [*found.servers] == ["it"]
    assert found.remarks == [
        "`inputs` is no key of the daemon, and is ignored",
        "it: `autoApprove` is no key of the daemon, and is ignored",
        "it: `timeout` is no key of the daemon, and is ignored: its own `timeout` stands in `soul`",
        "it: `disabled` is no key of the daemon, and is ignored",
        "it: `header` is no key of the daemon, and is ignored; is it `headers`?",
    ]


def test_a_server_that_other_clients_leave_out_is_left_out_here_too(tmp_path: Path) -> None:
    found = read_one(tmp_path, {"command": "no-such-program", "disabled": True})
    assert (found.faults, [*found.servers]) == ([], ["well"])
    assert found.remarks == ["it: it is left out, since it is `disabled`"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "it is empty: write "),
        ("{", "it is no JSON (Expecting property name enclosed in double quotes, line 1, column 2): mend it"),
        ('{"mcpServers": {}, // mine\n}', "it is no JSON ("),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"mcpServers": {"a": {"x": 1' + "0" * 5000 + "}}}", "it holds a number that cannot be read"),
        ('{"mcpServers": NaN}', "it holds a number that cannot be read"),
        ("[]", "it is no JSON object"),
        ("{}", 'it has no `mcpServers`: write {"mcpServers": {…}}'),
        ({"servers": {}}, "it has no `mcpServers`: rename `servers` to it"),
        ({"mcpServers": []}, "`mcpServers` is no object"),
        ('{"mcpServers": {}, "mcpServers": {}}', "it has `mcpServers` twice: join the two"),
        ({"mcpServers": dict.fromkeys(map(str, range(101)), WELL)}, "it has 101 servers, more than 100"),
        (" " * 1_000_001, "it is longer than 1,000,000 bytes: shorten it"),
        ("\0", "it is binary, or not in UTF-8"),
        ('{"mcpServers": "\ud800"}', "it is not UTF-8 from byte 17 on"),
    ],
)
def test_a_file_that_cannot_be_read_has_one_fault(tmp_path: Path, content: object, said: str) -> None:
    found = read(tmp_path, content)
    [fault] = found.faults
    assert fault.startswith(said)
    assert not found.servers


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeff" + json.dumps({"mcpServers": {"well": WELL}})).servers.keys() == {"well"}


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ([], "is a list, and an object {…} belongs there"),
        (None, "is null, and an object {…} belongs there"),
        ({}, "it has neither `command` nor `url`: write one of them"),
        (
            {"serverUrl": "https://x"},
            "it has neither `command` nor `url`: write `url` in place of `serverUrl`",
        ),
        ({"command": "sh", "url": "https://x"}, "it has a `command` and a `url`: take one of them away"),
        ({"type": "sse", "url": "https://x"}, "`type` is sse, which MCP has given up: write http, and"),
        ({"type": "ws", "url": "https://x"}, "`type` is neither stdio nor http"),
        ({"type": ["http"], "url": "https://x"}, "`type` is neither stdio nor http"),
        ({"type": "stdio", "url": "https://x"}, "`type` asks for a `command`, and it has a `url`"),
        ({"type": "http", "command": "sh"}, "`type` asks for a `url`, and it has a `command`"),
        ({"url": "x.example/mcp"}, "`url` is not an http:// or https:// URL (it has 13 characters)"),
        ({"url": "https://me:pw@x"}, "`url` holds a user or a password, which nothing sends"),
        ({"url": "https://x/a b"}, "`url` holds a blank or a line break: leave it out"),
        ({"url": 7}, "`url` is a number, and a text belongs there: put it into quotes"),
        (
            {"url": "https://x/${NOT_SET}"},
            "`url` uses the variable `NOT_SET`, which is not set: set it in .env",
        ),
        ({"url": "https://x", "headers": []}, "`headers` is a list, and an object {…} belongs there"),
        ({"url": "https://x", "headers": {"A b": "x"}}, "`headers`, entry 1, is no name of a header"),
        ({"url": "https://x", "headers": {"A": "x\ny"}}, "`headers.A` holds a line break or another"),
        ({"url": "https://x", "headers": {"A": "ü"}}, "`headers.A` holds a line break or another"),
        ({"url": "https://x", "headers": {"A": "b", "a": "c"}}, "`headers.a` is there twice"),
        ({"command": ""}, "`command` is empty"),
        ({"command": ["sh"]}, "`command` is a list, and a text belongs there"),
        ({"command": "no-such-program"}, "`command` names a program (no-such-program) that is not on PATH"),
        (
            {"command": "/no/such"},
            "`command` names a program (/no/such) that is not there, or may not be run",
        ),
        (
            {"command": "sh -c true"},
            "`command` holds more than the name of a program: write its arguments into",
        ),
        ({"command": "sh\0"}, "`command` holds a NUL"),
        ({"command": "${EMPTY}"}, "`command` uses the variable `EMPTY`, which is not set"),
        ({"command": "${A:-${B}}"}, "`command` holds a ${ that begins no variable"),
        ({"command": "${HOME"}, "`command` holds a ${ that begins no variable: write ${NAME}"),
        (
            {"command": "sh", "args": "x"},
            '`args` is a text, and a list belongs there: write it like ["--flag"',
        ),
        (
            {"command": "sh", "args": ["x", 1]},
            "`args` has an item that is a number, and a text belongs there: put",
        ),
        ({"command": "sh", "args": ["\ud800"]}, "`args` has an item that holds half a character"),
        (
            {"command": "sh", "args": ["x" * 10_001]},
            "`args` has an item that is longer than 10,000 characters",
        ),
        (
            {"command": "sh", "env": {"A": True}},
            "`env.A` is true or false, and a text belongs there: put it into",
        ),
        ({"command": "sh", "env": {"A=B": "x"}}, "`env`, entry 1, is no name of a variable"),
        ({"command": "sh", "cwd": "nowhere"}, "`cwd` names a folder that does not exist"),
        ({"command": "sh", "cwd": "x" * 9_000}, "`cwd` names a folder that does not exist"),
        ({"command": "x" * 9_000}, "`command` names a program that is not on PATH"),
        ({"command": "./" + "x" * 9_000}, "`command` names a program that is not there, or may not be run"),
        ({"command": "sh", "cwd": "~nobody-here/x"}, "`cwd` begins with ~, and there is no such user"),
        ({"command": "sh", "trusted": True}, "`trusted` has no effect there: write it into `soul`"),
        ({"command": "sh", "soul": []}, "`soul` is a list, and an object {…} belongs there"),
        ({"command": "sh", "soul": {"trust": True}}, "`soul` holds `trust`: is it `trusted`?"),
        ({"command": "sh", "soul": {"xyz": 1}}, "`soul` holds `xyz`: there are trusted, tools, approval"),
        (
            {"command": "sh", "soul": {"trusted": "true"}},
            "`soul.trusted` is a text: write true or false, without",
        ),
        (
            {"command": "sh", "soul": {"sandbox": 1}},
            "`soul.sandbox` is a number: write true or false, without",
        ),
        ({"url": "https://x", "soul": {"sandbox": True}}, "`soul.sandbox` is for programs, and it has no"),
        (
            {"command": "sh", "soul": {"tools": ["*"]}},
            "`soul.tools` is a list, and an object {…} belongs there",
        ),
        ({"command": "sh", "soul": {"tools": {"alow": []}}}, "`soul.tools` holds `alow`, which is neither"),
        (
            {"command": "sh", "soul": {"tools": {"deny": "x"}}},
            "`soul.tools` has an `deny` that is a text, and a",
        ),
        (
            {"command": "sh", "soul": {"tools": {"deny": [""]}}},
            "`soul.tools` has an `deny` that has an item that",
        ),
        ({"command": "sh", "soul": {"approval": "ask"}}, "`soul.approval` is none of writes, always, never"),
        (
            {"command": "sh", "soul": {"approval": True}},
            "`soul.approval` is true or false, and one of writes,",
        ),
        (
            {"command": "sh", "soul": {"approval": {"*": []}}},
            "`soul.approval` has a rule that is none of writes",
        ),
        (
            {"command": "sh", "soul": {"approvers": []}},
            "`soul.approvers` is empty, so that nobody could approve",
        ),
        (
            {"command": "sh", "soul": {"approvers": ["U0BOB"]}},
            "`soul.approvers` has an item that is neither owner",
        ),
        (
            {"command": "sh", "soul": {"approvers": "owner"}},
            "`soul.approvers` is a text, and a list belongs there",
        ),
        (
            {"command": "sh", "soul": {"channels": []}},
            "`soul.channels` is empty: leave it out for all channels",
        ),
        (
            {"command": "sh", "soul": {"channels": ["Our Room"]}},
            "`soul.channels` has an item that is neither a",
        ),
        ({"command": "sh", "soul": {"timeout": 0}}, "`soul.timeout` is not between a second and a day"),
        ({"command": "sh", "soul": {"timeout": 10**400}}, "`soul.timeout` is not between a second and a day"),
        ({"command": "sh", "soul": {"timeout": 1e999}}, "it holds a number that cannot be read"),
        (
            {"command": "sh", "soul": {"timeout": True}},
            '`soul.timeout` is true or false: write it like "90s"',
        ),
        (
            {"command": "sh", "soul": {"start_timeout": "fast"}},
            "`soul.start_timeout` is not a number with a unit",
        ),
    ],
)
def test_a_server_with_a_fault_is_left_out_and_the_others_work(
    tmp_path: Path, server: Any, said: str
) -> None:
    found = read_one(tmp_path, server)
    [fault] = found.faults
    if said.startswith("it holds"):  # JSON knows no infinity, so the whole file is wrong
        assert fault.startswith(said)
    else:
        assert fault.startswith(f"it: {said}")
        assert [*found.servers] == ["well"]


def test_a_megabyte_of_anything_is_read_quickly(tmp_path: Path) -> None:
    keys = ", ".join(f'"a{number}": 1' for number in range(60_000))
    texts = json.dumps(["${A:-" * 1_900] * 95)
    for value in (f'{{"a1": 1, {keys}}}', texts, f'["{"${A:-" * 190_000}"]', '"' + "." * 990_000 + '"'):
        for key in ("args", "command", "soul", "env"):
            content = f'{{"mcpServers": {{"it": {{"command": "sh", "{key}": {value}}}}}}}'
            began = time.process_time()
            assert read(tmp_path, content).faults
            assert time.process_time() - began < 2


@pytest.mark.parametrize("key", ["args", "env", "headers", "soul", "x"])
@pytest.mark.parametrize("depth", [100, 600, 900])
def test_deep_nesting_is_a_fault_and_no_crash(tmp_path: Path, key: str, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    for server in ('"command": "sh"', '"url": "https://x"'):
        for value in (nested, f'{{"A": {nested}}}', nested.replace("[", '{"a":').replace(":}", ":1}")):
            found = read(tmp_path, f'{{"mcpServers": {{"it": {{{server}, "{key}": {value}}}}}}}')
            assert found.faults or found.remarks


def test_every_fault_of_a_server_is_named(tmp_path: Path) -> None:
    server = {"url": "x", "headers": {"A": "${NO}", "B": 1}, "soul": {"timeout": 0, "trusted": 0}}
    said = [fault.split()[1] for fault in read_one(tmp_path, server).faults]
    assert said == ["`url`", "`headers.A`", "`headers.B`", "`soul.timeout`", "`soul.trusted`"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "a b",
            "the server number 1 has a name of 3 characters for a name: use letters, digits, - and _ alone",
        ),
        ("", "the server number 1 has a name of 0 characters"),
        ("x" * 33, "the server number 1 has a name of 33 characters"),
        ("café", "the server number 1 has a name of 4 characters"),
        ("a.b", "the server number 1 has `a.b` for a name"),
    ],
)
def test_a_name_with_other_characters_is_a_fault(tmp_path: Path, name: str, said: str) -> None:
    found = read(tmp_path, {"mcpServers": {name: WELL, "well": WELL}})
    [fault] = found.faults
    assert fault.startswith(said)
    assert [*found.servers] == ["well"]


def test_of_two_servers_of_one_name_neither_is_used(tmp_path: Path) -> None:
    sh = json.dumps(WELL)
    found = read(
        tmp_path,
        f'{{"mcpServers": {{"one": {sh}, "one": {sh}, "Time": {sh}, "time": {sh}, "well": {sh}}}}}',
    )
    assert found.faults == [
        "`one` is the name of two servers, and neither is used: give one another name",
        "Time and time differ by case alone, and neither is used: give one another name",
    ]
    assert [*found.servers] == ["well"]


def test_a_key_that_stands_twice_is_a_fault(tmp_path: Path) -> None:
    found = read(
        tmp_path, '{"mcpServers": {"it": {"command": "sh", "soul": {"channels": ["a"], "channels": ["b"]}}}}'
    )
    assert found.faults == ["it: `soul` holds `channels` twice: take one of them away"]


def test_an_unset_variable_takes_its_default_and_so_does_an_empty_one(tmp_path: Path) -> None:
    args = [
        "${NOT_SET:-a}",
        "${EMPTY:-b c}",
        "${EMPTY:-}",
        "${env:GITHUB_TOKEN}",
        "$HOME",
        "${GITHUB_TOKEN:-x}",
    ]
    [it, _] = read_one(tmp_path, {"command": "sh", "args": args}).servers.values()
    assert it.args == ("a", "b c", "", "hush-token", "$HOME", "hush-token")


@pytest.mark.parametrize("where", ["env", "headers", "args"])
@pytest.mark.parametrize("text", ["${SLACK_BOT_TOKEN}", "x xoxb-own-key", "${NOT_SET:-xoxb-own-key}"])
def test_no_server_gets_a_key_of_the_daemon(tmp_path: Path, where: str, text: str) -> None:
    server: dict[str, Any] = {"command": "sh", where: {"A": text}}
    if where == "headers":
        server = {"url": "https://x", "headers": {"A": text}}
    elif where == "args":
        server["args"] = [text]
    found = read_one(tmp_path, server)
    [fault] = found.faults
    assert "holds SLACK_BOT_TOKEN, a key of the daemon itself, which no server gets: give the server" in fault
    assert "own-key" not in fault


def test_a_key_of_the_daemon_that_is_not_set_is_refused_too(tmp_path: Path) -> None:
    [fault] = read_one(tmp_path, {"command": "sh", "args": ["${ANTHROPIC_API_KEY}"]}).faults
    assert "ANTHROPIC_API_KEY, a key of the daemon itself" in fault


def test_a_program_is_looked_for_on_the_path_that_it_gets(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "own-tool"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    assert read_one(tmp_path, {"command": "own-tool"}).faults
    found = read_one(tmp_path, {"command": "own-tool", "env": {"PATH": str(program.parent)}})
    assert (found.faults, found.servers["it"].command) == ([], "own-tool")
    assert read_one(tmp_path, {"command": "./bin/own-tool"}).servers["it"].command == str(program)
    assert read_one(tmp_path, {"command": "./own-tool", "cwd": "bin"}).servers["it"].command == str(program)


def test_secrets_of_all_servers_can_be_masked_and_are_in_no_representation(tmp_path: Path) -> None:
    content = {
        "mcpServers": {
            "far": {
                "url": "https://x?key=${GITHUB_TOKEN}",
                "headers": {"Authorization": "Basic in-the-file"},
            },
            "near": {"command": "sh", "args": ["${LONG}"], "env": {"KEY": "of-the-program", "DEBUG": "1"}},
        }
    }
    found = read_mcp_file(write(tmp_path, content), {**VALUES, "LONG": "of-the-arguments", "HOME": "/srv/x"})
    secrets = {"hush-token", "Basic in-the-file", "in-the-file", "of-the-program", "of-the-arguments"}
    assert {*found.secrets} == secrets
    assert [len(one) for one in found.secrets] == sorted((len(one) for one in secrets), reverse=True)
    assert not [one for one in secrets if one in repr(found)]


HIDDEN = "Hidden-4711-word"
KEYS = ("command", "url", "args", "env", "headers", "cwd", "type", "soul", HIDDEN)
OWN_KEYS = (
    *("trusted", "tools", "approval", "approvers", "channels", "outsiders", "timeout", "start_timeout"),
    *("sandbox", HIDDEN),
)
PLACES: list[Any] = [HIDDEN, [HIDDEN], {"A": [HIDDEN]}, {HIDDEN: 1}, "${" + HIDDEN, "${NOT_SET} " + HIDDEN]


def test_no_fault_shows_a_value(tmp_path: Path) -> None:
    contents: list[Any] = [
        f"{{{HIDDEN}",
        {HIDDEN: {}},
        {"mcpServers": HIDDEN},
        {"mcpServers": {HIDDEN: WELL}},
    ]
    for place in PLACES:
        contents += [{"mcpServers": {"it": place}}]
        contents += [{"mcpServers": {"it": {"command": "/no/x", key: place}}} for key in KEYS]
        contents += [{"mcpServers": {"it": {"url": "no", key: place}}} for key in KEYS]
        contents += [{"mcpServers": {"it": {**WELL, "soul": {key: place}}}} for key in OWN_KEYS]
    said: list[str] = []
    for content in contents:
        found = read(tmp_path, content)
        said += [*found.faults, *found.remarks]
    assert len(said) > 200
    assert [one for one in said if "idden" in one] == []


def test_a_missing_file_has_no_servers_unless_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    assert read_mcp_file(path, VALUES) == ToolServersFile()
    assert read_mcp_file(path, VALUES, required=True).faults == [
        "it is not there: put it back, or leave MCP_CONFIG out"
    ]
    path.symlink_to("nowhere")
    assert read_mcp_file(path, VALUES).faults
    assert read_mcp_file(tmp_path / "file" / "mcp.json", VALUES) == ToolServersFile()


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = write(tmp_path, {"mcpServers": {"well": WELL}})
    path.chmod(mode)
    refused = ["other users may write it, and it can start programs: chmod go-w it"]
    assert read_mcp_file(path, VALUES) == ToolServersFile(faults=refused)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    assert read_mcp_file(link, VALUES).faults == refused
    path.chmod(0o644)
    assert read_mcp_file(link, VALUES).servers.keys() == {"well"}


def test_a_file_in_a_folder_that_all_may_write_is_refused_also_behind_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    path = write(folder, {"mcpServers": {"well": WELL}})
    link = tmp_path / "link.json"
    link.symlink_to(path)
    folder.chmod(0o777)
    for named in (path, link):
        assert (
            read_mcp_file(named, VALUES)
            .faults[0]
            .startswith("other users may write the folder that it is in")
        )
    folder.chmod(0o1777)  # as /tmp is: others cannot take the file's place
    assert not read_mcp_file(path, VALUES).faults


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, {"mcpServers": {"well": WELL}})
    os.chown(path, 12345, -1)
    assert read_mcp_file(path, VALUES).faults[0].startswith("it belongs to another user")


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    os.mkfifo(path)
    assert read_mcp_file(path, VALUES).faults == ["it is no ordinary file: put one in its place"]
    path.unlink()
    path.mkdir()
    assert read_mcp_file(path, VALUES).faults == ["it is no ordinary file: put one in its place"]
    path.rmdir()
    path.symlink_to(path)
    assert read_mcp_file(path, VALUES).faults[0].startswith("it cannot be read (Too many levels of symbolic")
