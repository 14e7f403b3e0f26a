"""Which of the daemon's files others could read: private thoughts are in them. For the start, the doctor.

The project's own files, the name that stands in one of them, and where the journals live.

Every setting as a Markdown table, made from `.env.example`: docs/SETTINGS.md, the command `settings`.

One of the owner's text files: read whole within a bound, or refused with the reason and the remedy.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from daemon import __file__
from daemon.settings.parse import ConfigError

TOKEN = "console-token"
"""The file in the home with the token of the page."""


JOURNALS = ("*.db", "*.db-wal", "*.db-shm", "*.db-journal", "*.db.lock", "*.db.part")
"""The files of journals, and of what is kept beside them."""


CAPABILITIES = "model-capabilities.json"
"""The file in it with what the models of servers can do."""


PAGE = ("console-token*", "console-sessions", "console-links", "*console-address*")
"""What opens the page, and where it is: files, and folders of files."""


READS = "reads"
"""The folder in it with the journals of what was read in a terminal."""


OTHERS = stat.S_IRWXG | stat.S_IRWXO


def set_private_umask() -> None:
    """From now on nobody but its owner can read what this process makes."""
    os.umask(OTHERS)


def is_readable_by_others(path: Path) -> bool:
    """May others than its owner do anything with it, as far as it is there?"""
    try:
        return bool(path.stat().st_mode & OTHERS)
    except OSError:
        return False


def write_private(path: Path, text: str) -> None:
    """Replace this file by one that only its owner can read: whole, or not at all. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink()
        raise


def journals(home: Path) -> list[Path]:
    """The files of the daemon's journals there."""
    return sorted(path for pattern in JOURNALS for path in home.glob(pattern) if path.is_file())


def daemon_files(home: Path) -> list[Path]:
    """All that the daemon makes at the top of its home, but for folders of other things."""
    patterns = (*PAGE, f"{CAPABILITIES}*")
    return [*journals(home), *sorted(path for pattern in patterns for path in home.glob(pattern))]


def journal_files(home: Path) -> list[Path]:
    """The daemon's own files there, wherever they stand, and its folders of them."""
    own = daemon_files(home)
    return own + [path for folder in own if folder.is_dir() for path in sorted(folder.iterdir())]


def restrict_permissions(home: Path) -> None:
    """Close the daemon's own files there to others, and the folder, too, if nothing else is in it.

    What belongs to somebody else, or is a folder of other things, is left as it is: the doctor says so. So is
    the token: who reads it closes it, and says that others may know it.
    """
    for path in daemon_files(home):
        if path.name != TOKEN:
            _close(path)
    if {*home.iterdir()} <= {*daemon_files(home)}:
        _close(home)


def _close(path: Path) -> None:
    with suppress(OSError):  # it is gone, or somebody else's
        if is_readable_by_others(path):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)


MOST_BYTES = 1_000_000
"""The longest text that is read: more than the context window of most models holds."""


def read_text_file(path: Path) -> str:
    """Return the text. Raise ValueError with what is wrong, and what to do, as the end of a sentence."""
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise ValueError("a folder stands in its place: put the file back")
        if not stat.S_ISREG(found.st_mode):  # reading a pipe would wait for ever
            raise ValueError("it is no ordinary file: put one in its place")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise ValueError("it is not there: put it back") from None
    except PermissionError:
        raise ValueError("this user may not read it: give it the right to (chmod u+r)") from None
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror}): put it back") from error
    return _decoded(data)


def _decoded(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise ValueError(f"it is longer than {MOST_BYTES:,} bytes: shorten it")
    if b"\0" in data:
        raise ValueError("it is binary, or not in UTF-8: save it as a text in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 from byte {error.start + 1} on: save it as UTF-8") from None


VERSION = "0.1.0"
"""The version of this code, until a release has another one."""


SHORT = 12
"""Characters of a commit that are shown."""


def project_root() -> Path:
    """The project's folder: where soul.md and prompts/ are."""
    return Path(__file__).resolve().parent.parent


def version() -> str:
    """Return the version, and in a checkout the commit: `0.1.0 (47eb9e38)`."""
    git = project_root() / ".git"
    try:
        commit = (git / "HEAD").read_text().strip()
        if commit.startswith("ref: "):
            commit = (git / commit.removeprefix("ref: ")).read_text().strip()
    except (OSError, UnicodeDecodeError):  # an image, a work tree beside its repository, packed references
        return VERSION
    return f"{VERSION} ({commit[:SHORT]})"


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
