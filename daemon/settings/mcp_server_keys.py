"""One server of mcp.json: the keys that MCP clients share, and our own in `soul`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from daemon.settings.mcp_oauth import read_oauth
from daemon.settings.mcp_servers import ToolServerSettings
from daemon.settings.mcp_values import (
    ConfigObject,
    read_any_text,
    read_approval,
    read_approvers,
    read_arguments,
    read_channels,
    read_object,
    read_text,
    read_timeout,
    read_tools,
    read_truth_value,
    suggestion,
)
from daemon.settings.mcp_variables import ServerVariables, is_shown, shown_name
from daemon.settings.parse import SECRETS, UNSENDABLE, read_url

HTTP_TYPES = ("http", "streamable-http", "streamableHttp")
"""Words for streamable HTTP; the longer ones are those of other clients."""

OF_COMMAND = ("command", "args", "env", "cwd")
OF_URL = ("url", "headers", "oauth")
SHARED = (*OF_COMMAND, *OF_URL, "type")

ADDRESS_KEYS = ("serverUrl", "httpUrl")
"""Keys of other clients for the address of a server."""

OWN: Mapping[str, Callable[[object], Any]] = {
    "trusted": read_truth_value,
    "tools": read_tools,
    "approval": read_approval,
    "approvers": read_approvers,
    "channels": read_channels,
    "outsiders": read_truth_value,
    "timeout": read_timeout,
    "start_timeout": read_timeout,
    "sandbox": read_truth_value,
}
"""Readers of the keys in `soul`."""

OWN_ALONE = OWN.keys() - {"tools", "timeout"}
"""Keys of `soul` that no other client knows: outside of it, they would be rules without effect."""

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
"""Token of RFC 9110."""

PROGRAM = re.compile(r"(?:~?/)?(?:[A-Za-z._+-]{1,30}[0-9.]{0,4}/){0,9}[A-Za-z._+-]{1,30}[0-9.]{0,4}")
"""Form of programs that errors show."""

ENV_NAME = re.compile(r"[^=\0]{1,200}")


class ServerReader:
    """Reader of one server's object, with faults and remarks as ends of sentences after its name.

    Relative paths start at `folder`, which is also the working folder of programs that name none.
    """

    def __init__(self, name: str, variables: ServerVariables, path: str, folder: Path) -> None:
        self.faults: list[str] = []
        self.remarks: list[str] = []
        self.is_disabled = False
        self._name = name
        self._variables = variables
        self._path = path
        self._folder = folder

    def read(self, value: object) -> ToolServerSettings | None:
        """Return the settings; None if there is a fault or the server is disabled."""
        given: Mapping[str, Any] = {}
        with self._faults_of(""):
            given = read_object(value)
        if self.faults:
            return None
        self._read_foreign(given)
        if self.is_disabled:
            return None
        found = {**self._read_transport(given), **self._read_own(given)}
        if self.faults:
            return None
        filled = tuple(dict.fromkeys(self._variables.used))
        return ToolServerSettings(name=self._name, filled=filled, **found)

    @contextmanager
    def _faults_of(self, key: str) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            self.faults.append(f"{key} {error}".strip())

    def _read_foreign(self, given: Mapping[str, Any]) -> None:
        """Note the keys of other clients; `disabled` is the one that holds here, too."""
        for key, value in given.items():
            if key in OWN_ALONE:
                self.faults.append(f"`{key}` has no effect there: write it into `soul`")
            elif key == "disabled" and value is True:
                self.is_disabled = True
                self.remarks.append("it is left out, since it is `disabled`")
            elif key not in SHARED and key != "soul":
                self.remarks.append(_foreign_remark(key))

    def _read_transport(self, given: Mapping[str, Any]) -> dict[str, Any]:
        kind = self._transport(given)
        if not kind:
            return {}
        for key in given:
            if key in (OF_URL if kind == "command" else OF_COMMAND):
                self.remarks.append(f"`{key}` means nothing beside `{kind}`, and is ignored")
        if kind == "url":
            return self._read_remote(given)
        return self._read_program(given)

    def _transport(self, given: Mapping[str, Any]) -> str:
        """Return "command" or "url"; empty with a fault if neither is clear."""
        there = [key for key in ("command", "url") if key in given]
        type_ = given.get("type")
        if type_ == "sse":
            self.faults.append(
                "`type` is sse, which MCP has given up: write http, and the address for streamable HTTP"
            )
        elif len(there) == 2:
            self.faults.append("it has a `command` and a `url`: take one of them away")
        elif not there:
            self.faults.append(_missing_transport(given))
        elif "type" in given and type_ not in ("stdio", *HTTP_TYPES):
            self.faults.append("`type` is neither stdio nor http: write one of these, or leave it out")
        elif "type" in given and (type_ == "stdio") != (there == ["command"]):
            wanted = "command" if type_ == "stdio" else "url"
            self.faults.append(f"`type` asks for a `{wanted}`, and it has a `{there[0]}`: change one of them")
        else:
            return there[0]
        return ""

    def _read_remote(self, given: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with self._faults_of("`url`"):
            found["url"] = _read_address(self._filled(given["url"]).strip())
        if "headers" in given:
            found["headers"] = self._read_pairs("headers", given["headers"], _read_header)
        if "oauth" in given:
            with self._faults_of("`oauth`"):
                found["oauth"] = read_oauth(given["oauth"], self._variables.fill_all)
        return found

    def _read_program(self, given: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {"cwd": str(self._folder)}
        if "args" in given:
            with self._faults_of("`args`"):
                found["args"] = read_arguments(self._variables.fill_all(given["args"]))
        if "env" in given:
            found["env"] = self._read_pairs("env", given["env"], _read_variable)
        if "cwd" in given:
            with self._faults_of("`cwd`"):
                found["cwd"] = self._working_folder(self._filled(given["cwd"]))
        with self._faults_of("`command`"):
            path = found.get("env", {}).get("PATH") or self._path
            found["command"] = self._program(given["command"], path, Path(found["cwd"]))
        return found

    def _read_pairs(
        self, key: str, value: object, read: Callable[[str, str], tuple[str, str]]
    ) -> Mapping[str, str]:
        found: dict[str, str] = {}
        pairs: Mapping[str, Any] = {}
        with self._faults_of(f"`{key}`"):
            pairs = read_object(value)
        for place, (name, text) in enumerate(pairs.items(), 1):
            with self._faults_of(_place(key, name, place)):
                one, filled = read(read_any_text(name), read_any_text(self._variables.fill_all(text)))
                if key == "headers" and one.casefold() in map(str.casefold, found):
                    raise ValueError("is there twice, in capitals and small letters: take one of them away")
                found[one] = filled
        return found

    def _working_folder(self, text: str) -> str:
        folder = _expanded(text, self._folder)
        if not os.path.isdir(folder):  # noqa: PTH112  false, and no error, for a name that is too long
            raise ValueError("names a folder that does not exist: make it, or name another one")
        return str(folder)

    def _program(self, value: object, path: str, cwd: Path) -> str:
        text = self._filled(value).strip()
        program = text
        if "/" in text:
            program = str(_expanded(text, cwd))
        try:
            is_there = shutil.which(program, path=path) is not None
        except ValueError:
            is_there = False
        if is_there:
            return program
        if " " in text and shutil.which(text.split()[0], path=path):
            raise ValueError("holds more than the name of a program: write its arguments into `args`")
        named = _shown_program(value)
        if "/" in text:
            raise ValueError(f"names a program{named} that is not there, or may not be run: mend its path")
        raise ValueError(f"names a program{named} that is not on PATH: install it, or write its full path")

    def _filled(self, value: object) -> str:
        return read_text(self._variables.fill(read_text(value)))

    def _read_own(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Read `soul`."""
        own: Mapping[str, Any] = {}
        with self._faults_of("`soul`"):
            own = read_object(given.get("soul", ConfigObject()))
        found: dict[str, Any] = {}
        for key, value in own.items():
            if key not in OWN:
                self.faults.append(f"`soul` holds {shown_name(key)}: {suggestion(key, [*OWN])}")
                continue
            with self._faults_of(f"`soul.{key}`"):
                found[key] = OWN[key](value)
        if found.get("sandbox") and "command" not in given:
            self.faults.append("`soul.sandbox` is for programs, and it has no `command`: take it away")
        return {**found.pop("tools", {}), **found}


def _place(key: str, name: str, place: int) -> str:
    """Return the name of an entry of an object; its number if the name may be a misplaced secret."""
    if is_shown(name):
        return f"`{key}.{name}`"
    return f"`{key}`, entry {place},"


def _missing_transport(given: Mapping[str, Any]) -> str:
    for key in ADDRESS_KEYS:
        if key in given:
            return f"it has neither `command` nor `url`: write `url` in place of `{key}`"
    return "it has neither `command` nor `url`: write one of them"


def _foreign_remark(key: str) -> str:
    said = f"{shown_name(key)} is no key of the daemon, and is ignored"
    if key in OWN:
        return f"{said}: its own `{key}` stands in `soul`"
    hint = suggestion(key, [*SHARED, "soul"])
    if hint.endswith("?"):
        return f"{said}; {hint}"
    return said


def _shown_program(value: object) -> str:
    """Return the program as written, if it does not look like a misplaced secret."""
    text = str(value).strip()
    if PROGRAM.fullmatch(text) and not text.startswith(SECRETS):
        return f" ({text})"
    return ""


def _expanded(text: str, folder: Path) -> Path:
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        raise ValueError("begins with ~, and there is no such user") from None
    return Path(os.path.normpath(folder / path))


def _read_address(text: str) -> str:
    if not text.isprintable() or " " in text:
        raise ValueError("holds a blank or a line break: leave it out")
    return read_url(text)


def _read_header(name: str, value: str) -> tuple[str, str]:
    if not HEADER_NAME.fullmatch(name):
        raise ValueError("is no name of a header: use letters, digits and hyphens")
    if UNSENDABLE.search(value) or not value.isascii():
        raise ValueError("holds a line break or another character that cannot be sent: leave it out")
    return name, value.strip()


def _read_variable(name: str, value: str) -> tuple[str, str]:
    if not ENV_NAME.fullmatch(name):
        raise ValueError("is no name of a variable: leave out the =")
    return name, value
