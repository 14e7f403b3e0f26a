"""Every setting as a Markdown table, made from `.env.example`: docs/SETTINGS.md, the command `settings`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from daemon.errors import ConfigError
from daemon.project import project_root

SETTINGS_HEAD = """# Settings

Each is a variable of the environment, or a line of `.env` (copy `.env.example`); the environment wins.
An empty one counts as not set. All are read once, at the start; what is wrong is said for all at once.
`python -m daemon settings` writes this page.

| variable | default | what it says |
|---|---|---|
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingLine:
    """A setting as `.env.example` has it."""

    name: str
    default: str
    meaning: str


def settings_table() -> str:
    """The page. Raises ConfigError where the example is not there."""
    try:
        text = (project_root() / ".env.example").read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f".env.example cannot be read ({error.strerror}): put it back.") from error
    return SETTINGS_HEAD + "".join(f"{_settings_row(line)}\n" for line in setting_lines(text))


def setting_lines(example: str) -> Iterator[SettingLine]:
    """Each `#NAME=default`, with what the comment above it says."""
    said: list[str] = []
    for line in example.splitlines():
        name, equals, default = line.removeprefix("#").partition("=")
        if line.startswith("# "):
            said.append(line.removeprefix("# "))
        elif line.startswith("#") and equals:
            yield SettingLine(name=name, default=default, meaning=" ".join(said))
            said = []
        else:
            said = []


def _settings_row(line: SettingLine) -> str:
    default = f"`{line.default}`" if line.default else ""
    meaning = line.meaning.replace("|", "\\|")
    return f"| `{line.name}` | {default} | {meaning} |"
