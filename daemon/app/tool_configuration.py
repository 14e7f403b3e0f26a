"""The tool servers of mcp.json, with the variables of `.env` and the environment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from config import OWN_KEYS, variables
from daemon.settings.mcp_configuration import ToolServersConfiguration
from daemon.settings.mcp_file import MCP_FILE, read_mcp_file
from daemon.settings.mcp_servers import ToolServersFile
from daemon.settings.parse import ConfigError


def make_tool_configuration(
    folder: Path, named: Path | None, add: Callable[[ToolServersFile], ToolServersFile] | None = None
) -> ToolServersConfiguration:
    """Return the tool servers in force; `named` is the setting MCP_CONFIG, `folder` has the owner's texts.

    `add` adds servers to each version of the file.
    """
    read = partial(read_tool_servers, folder, named)
    return ToolServersConfiguration(named or folder / MCP_FILE, (lambda: add(read())) if add else read)


def read_tool_servers(folder: Path, named: Path | None) -> ToolServersFile:
    """Read the file as it is now."""
    try:
        values = variables()
    except ConfigError as error:
        return ToolServersFile(faults=[str(error).rstrip(".")])
    return read_mcp_file(named or folder / MCP_FILE, values, OWN_KEYS, required=named is not None)
