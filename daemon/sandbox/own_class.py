"""A sandbox class of the owner's, which RLM_SANDBOX names: loaded, and held against what is needed of it."""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from daemon.engine.exceptions import recorded_name
from daemon.environment import CellResult, Function, Sandbox, SandboxError, SandboxLimits
from daemon.errors import UNLOADED, ConfigError, unloadable_reason

log = logging.getLogger(__name__)

METHODS = ("open", "execute_code", "bind", "close")
"""Asynchronous methods that such a class has; `open` is a class method, and makes an instance."""
NEEDED = (
    "Write auto, monty or cpython, or package.module.Class for a class of your own with the asynchronous "
    "methods open (a class method), execute_code, bind and close: examples/sandbox_container.py is one."
)


class OwnerSandboxClass(Protocol):
    """A class whose instances are sandboxes (see daemon.environment.Sandbox)."""

    def open(self, functions: Mapping[str, Function], bounds: SandboxLimits) -> Awaitable[Sandbox]:
        """Open a sandbox whose cells can call these, within these bounds. Raises SandboxError."""


def load_sandbox_class(name: str) -> OwnerSandboxClass:
    """The class of this name, `package.module.Class` or `package.module:Class`.

    Raises ConfigError: what was expected, and what was found.
    """
    module, _, path = name.replace(":", ".").rpartition(".")
    if ":" in name:
        module, _, path = name.partition(":")
    found: object = _module(name, module)
    for part in path.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"RLM_SANDBOX={name}: {module} is there, but has no {part} in it. {NEEDED}")
        found = getattr(found, part)
    if not inspect.isclass(found):
        raise ConfigError(f"RLM_SANDBOX={name} is no class but {_kind(found)}. {NEEDED}")
    wrong = [method for method in METHODS if not inspect.iscoroutinefunction(getattr(found, method, None))]
    if not inspect.ismethod(getattr(found, "open", None)) and "open" not in wrong:
        wrong.insert(0, "open as a class method")
    if wrong:
        raise ConfigError(f"RLM_SANDBOX={name} is a class without async {', '.join(wrong)}. {NEEDED}")
    return cast(OwnerSandboxClass, found)


def _module(name: str, module: str) -> object:
    """The module of this name, as it is found from where the daemon is. Raises ConfigError."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            raise ConfigError(f"RLM_SANDBOX={name}: there is no module {error.name}. {NEEDED}") from error
        raise ConfigError(f"RLM_SANDBOX={name}: {error.name} is not installed, which it needs.") from error
    except UNLOADED as error:
        file = Path(f"{module.replace('.', '/')}.py").absolute()
        raise ConfigError(
            f"RLM_SANDBOX={name}: {module}: {unloadable_reason(error, file)}. Mend it."
        ) from error


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"


async def open_owner_sandbox(
    name: str, made: OwnerSandboxClass, functions: Mapping[str, Function], bounds: SandboxLimits
) -> Sandbox:
    """A sandbox of this class. Raises SandboxError, whatever it raises itself."""
    try:
        return OwnerSandbox(name, await made.open(functions, bounds))
    except UNLOADED as error:
        log.exception("The sandbox %s could not be opened.", name)
        raise SandboxError(
            f"{name} could not be opened ({recorded_name(error)}): the log says why."
        ) from error


class OwnerSandbox:
    """Implements Sandbox over one of the owner's class: what that raises ends the sandbox, and no reading."""

    def __init__(self, name: str, sandbox: Sandbox) -> None:
        self._name = name
        self._sandbox = sandbox

    async def execute_code(self, code: str) -> CellResult:
        """Run this cell to its end; what is no Execution is an error of it."""
        try:
            came: object = await self._sandbox.execute_code(code)
        except UNLOADED as error:
            log.exception("The sandbox %s failed in a cell.", self._name)
            return self._unusable_result(f"failed ({recorded_name(error)}): the log says why.")
        if not isinstance(came, CellResult):
            log.error("execute_code of %s returned %s, no Execution.", self._name, _kind(came))
            return self._unusable_result(f"returned {_kind(came)} where an Execution belongs.")
        return came

    def _unusable_result(self, why: str) -> CellResult:
        return CellResult(error=f"{self._name} {why}", lost=True)

    async def bind(self, **names: Any) -> None:
        """Raises SandboxError, whatever it raises itself."""
        try:
            await self._sandbox.bind(**names)
        except UNLOADED as error:
            log.exception("The sandbox %s takes no values.", self._name)
            raise SandboxError(
                f"{self._name} takes no values ({recorded_name(error)}): the log says why."
            ) from error

    async def close(self) -> None:
        """End it; what goes wrong then stands in the log."""
        try:
            await self._sandbox.close()
        except UNLOADED:
            log.exception("The sandbox %s could not be closed.", self._name)
