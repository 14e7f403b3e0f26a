"""The file mcp.json: its JSON, and its servers by name.

A server with a fault is left out, and the others work. The file can start programs, so it is refused if
other users may write it.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from daemon.settings.home import decode_text
from daemon.settings.mcp_server_keys import ServerReader
from daemon.settings.mcp_servers import ToolServerSettings, ToolServersFile
from daemon.settings.mcp_values import ConfigObject
from daemon.settings.mcp_variables import VARIABLE, ServerVariables, shown_name
from daemon.settings.trusted_file import read_trusted_file

MCP_FILE = "mcp.json"

SERVERS_KEY = "mcpServers"

SERVER_NAME = re.compile("[A-Za-z0-9_-]{1,32}")

MOST_SERVERS = 100

MOST_BYTES = 1_000_000


def read_mcp_file(
    path: Path, values: Mapping[str, str], own: Collection[str] = (), *, required: bool = False
) -> ToolServersFile:
    """Read mcp.json; never raises.

    `values` are the variables that its texts may use, `own` the names of those that hold keys of the daemon.
    A missing file has no servers; if it is `required`, that is a fault.
    """
    try:
        data = read_trusted_file(path, MOST_BYTES)
    except FileNotFoundError:
        if required or path.is_symlink():
            return ToolServersFile(faults=["it is not there: put it back, or leave MCP_CONFIG out"])
        return ToolServersFile()
    except ValueError as error:
        return ToolServersFile(faults=[str(error)])
    try:
        servers = _servers_in(_parsed(decode_text(data)))
    except ValueError as error:
        return ToolServersFile(faults=[str(error)])
    return _FileReader(path.absolute().parent, values, own).read(servers)


def variable_names(path: Path) -> Collection[str]:
    """Return the names of the variables that mcp.json uses; none if it cannot be read."""
    with suppress(OSError, ValueError):
        return {found[1] for found in VARIABLE.finditer(decode_text(read_trusted_file(path, MOST_BYTES)))}
    return ()


def _parsed(text: str) -> object:
    if not text.strip():
        raise ValueError(f'it is empty: write {{"{SERVERS_KEY}": {{…}}}}, or take it away')
    try:
        return json.loads(text, object_pairs_hook=ConfigObject.from_pairs, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(
            f"it is no JSON ({error.msg}, {place}): mend it there; JSON has no comments, and no comma before"
            " a closing bracket"
        ) from None
    except RecursionError:
        raise ValueError("it is nested too deeply: take some brackets away") from None
    except ValueError:
        raise ValueError("it holds a number that cannot be read: mend it") from None


def _refuse_constant(_: str) -> object:
    raise ValueError


def _servers_in(found: object) -> tuple[ConfigObject, list[str]]:
    """Return the object of servers, and the other keys of the file. Raises ValueError."""
    if not isinstance(found, ConfigObject):
        raise ValueError(f'it is no JSON object: write {{"{SERVERS_KEY}": {{…}}}}')
    if SERVERS_KEY not in found:
        alike = [key for key in found if "server" in key.lower()]
        hint = f'write {{"{SERVERS_KEY}": {{…}}}}'
        if alike:
            hint = f"rename {shown_name(alike[0])} to it"
        raise ValueError(f"it has no `{SERVERS_KEY}`: {hint}")
    if SERVERS_KEY in found.doubled:
        raise ValueError(f"it has `{SERVERS_KEY}` twice: join the two")
    servers = found[SERVERS_KEY]
    if not isinstance(servers, ConfigObject):
        raise ValueError(f'`{SERVERS_KEY}` is no object: write {{"{SERVERS_KEY}": {{"NAME": {{…}}}}}}')
    if len(servers) > MOST_SERVERS:
        raise ValueError(f"it has {len(servers):,} servers, more than {MOST_SERVERS}: take some away")
    return servers, [key for key in found if key != SERVERS_KEY]


class _FileReader:
    def __init__(self, folder: Path, values: Mapping[str, str], own: Collection[str]) -> None:
        self._folder = folder
        self._values = values
        self._own = own

    def read(self, found: tuple[ConfigObject, list[str]]) -> ToolServersFile:
        given, others = found
        servers: dict[str, ToolServerSettings] = {}
        remarks = [f"{shown_name(key)} is no key of the daemon, and is ignored" for key in others]
        faults = [*_doubled(given)]
        twice = {name.casefold() for name in _alike(given)} | {name.casefold() for name in given.doubled}
        for place, (name, value) in enumerate(given.items(), 1):
            if not SERVER_NAME.fullmatch(name):
                faults.append(_name_fault(name, place))
                continue
            reader = self._reader(name)
            settings = reader.read(value)
            faults += [f"{name}: {said}" for said in reader.faults]
            remarks += [f"{name}: {said}" for said in reader.remarks]
            if settings and name.casefold() not in twice:
                servers[name] = settings
        return ToolServersFile(servers=servers, remarks=remarks, faults=faults)

    def _reader(self, name: str) -> ServerReader:
        variables = ServerVariables(self._values, self._own)
        return ServerReader(name, variables, self._values.get("PATH", os.defpath), self._folder)


def _alike(given: Mapping[str, Any]) -> list[str]:
    """Return the names that differ from another one by case alone."""
    counts = Counter(name.casefold() for name in given)
    return [name for name in given if counts[name.casefold()] > 1]


def _doubled(given: ConfigObject) -> Iterator[str]:
    for name in given.doubled:
        yield f"{shown_name(name)} is the name of two servers, and neither is used: give one another name"
    alike = [name for name in _alike(given) if SERVER_NAME.fullmatch(name)]
    for name in dict.fromkeys(name.casefold() for name in alike):
        same = " and ".join(one for one in alike if one.casefold() == name)
        yield f"{same} differ by case alone, and neither is used: give one another name"


def _name_fault(name: str, place: int) -> str:
    return (
        f"the server number {place} has {shown_name(name)} for a name: use letters, digits, - and _ alone, at"
        " most 32"
    )
