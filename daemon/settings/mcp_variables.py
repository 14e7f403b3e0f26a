"""Variables in the texts of mcp.json: `${NAME}` and `${NAME:-default}`, filled from the environment.

A variable that holds a key of the daemon itself is refused: no server gets one. No error shows a value.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from daemon.settings.parse import SECRETS

VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")
"""A variable; some clients write `${env:NAME}`. A default holds no braces, so none holds a variable."""

UNFILLED = "${"

NO_SECRETS = frozenset({"HOME", "LANG", "PATH", "PWD", "TMPDIR", "USER"})
"""Variables that each server gets or may know; masked, they would garble paths in error texts."""

LEAST_OWN_KEY = 8
"""Fewest characters of a key that is looked for in texts."""

KEY_NAME = re.compile(r"[A-Za-z$_][A-Za-z$_.-]{0,31}|[A-Z_][A-Z0-9_]{0,40}")
"""Form of names that errors show; other texts may be misplaced secrets."""


def is_shown(name: str) -> bool:
    """True if errors may show the name: it does not look like a misplaced secret."""
    return bool(KEY_NAME.fullmatch(name)) and not name.startswith(SECRETS)


def shown_name(name: str) -> str:
    """Return a name in back quotes, or only its length if it may be a misplaced secret."""
    if is_shown(name):
        return f"`{name}`"
    return f"a name of {len(name)} characters"


class ServerVariables:
    """Variables for the texts of one server; `used` are the values that were filled in and may be secret.

    `own` are the names of variables that hold keys of the daemon itself.
    """

    def __init__(self, values: Mapping[str, str], own: Collection[str] = ()) -> None:
        self._values = values
        self._own = {name: values.get(name, "").strip() for name in own}
        self.used: list[str] = []

    def fill(self, text: str) -> str:
        """Return the text with its variables filled. Raises ValueError with the end of a sentence.

        An empty variable counts as not set, as in the settings.
        """
        if UNFILLED in VARIABLE.sub("", text):
            raise ValueError("holds a ${ that begins no variable: write ${NAME} or ${NAME:-default}")
        filled = VARIABLE.sub(self._value, text)
        for name, key in self._own.items():
            if len(key) >= LEAST_OWN_KEY and key in filled:
                raise ValueError(_own_key_fault(name))
        return filled

    def _value(self, found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if name in self._own:
            raise ValueError(_own_key_fault(name))
        value = self._values.get(name, "")
        if not value and default is not None:
            return str(default)
        if not value:
            raise ValueError(
                f"uses the variable {shown_name(name)}, which is not set: set it in .env or the environment"
            )
        if name not in NO_SECRETS:
            self.used.append(value)
        return value

    def fill_all(self, value: Any) -> Any:
        """Fill a text, or the texts in a list; other values stay as they are. Raises ValueError."""
        if isinstance(value, str):
            return self.fill(value)
        if isinstance(value, list):
            return [self.fill(one) if isinstance(one, str) else one for one in value]
        return value


def _own_key_fault(name: str) -> str:
    return f"holds {name}, a key of the daemon itself, which no server gets: give the server one of its own"
