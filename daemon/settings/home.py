"""Files of the daemon: private home, project root, owner's texts, and the table of settings."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb

import daemon
from daemon.settings.parse import ConfigError

TOKEN = "console-token"
"""File with the console page's access token."""

MCP_TOKEN = "mcp-token"
"""File with the token of clients of the soul's MCP server."""

JOURNALS = ("*.db", "*.db-wal", "*.db-shm", "*.db-journal", "*.db.lock", "*.db.part")
"""Patterns of journals and of the files beside them."""

CAPABILITIES = "model-capabilities.json"
PAGE = ("console-token*", "mcp-token*", "console-sessions", "console-links", "*console-address*")
OAUTH = ("oauth-tokens", "oauth-consents")
"""Folders of the tokens of tool servers, and of consents that are waited for."""

READS = "reads"
TOOL_FOLDER = "tools"
"""Folder of logs, records and credentials of tool servers."""

PROGRAMS = ("processes", "rehearsal-processes")
"""Folders of the inner life's programs."""

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def set_private_umask() -> None:
    """Make new files of this process private to its owner."""
    os.umask(OTHERS)


def is_readable_by_others(path: Path) -> bool:
    """True if group or others have any access to an existing path."""
    try:
        return bool(path.stat().st_mode & OTHERS)
    except OSError:
        return False


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically by a private one. Raises OSError."""
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
    return sorted(path for pattern in JOURNALS for path in home.glob(pattern) if path.is_file())


def daemon_files(home: Path) -> list[Path]:
    """Return the daemon's files and folders in its home."""
    patterns = (*PAGE, *OAUTH, f"{CAPABILITIES}*", TOOL_FOLDER)
    return [*journals(home), *sorted(path for pattern in patterns for path in home.glob(pattern))]


def daemon_files_and_contents(home: Path) -> list[Path]:
    """Return the daemon's files and folders in its home, and the files in these folders."""
    own = daemon_files(home)
    return own + [path for folder in own if folder.is_dir() for path in sorted(folder.iterdir())]


def create_home(home: Path) -> None:
    """Create the folder of the journals, closed to other users. Raises ConfigError."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"SOUL_HOME names a folder that cannot be made ({error.strerror}). Name one that can."
        ) from error
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        raise ConfigError(
            f"SOUL_HOME is {home}, which cannot be written. Make it this user's, or name a folder that is."
        )
    restrict_permissions(home)


def restrict_permissions(home: Path) -> None:
    """Make the daemon's files private, and also the home folder if it holds nothing else.

    A token file keeps its mode until its token is read, so that an exposed token can be reported.
    """
    for path in daemon_files(home):
        if path.name not in (TOKEN, MCP_TOKEN):
            _close(path)
    if {*home.iterdir()} <= {*daemon_files(home)}:
        _close(home)


def _close(path: Path) -> None:
    with suppress(OSError):  # gone, or owned by another user
        if is_readable_by_others(path):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)


MOST_TEXT_BYTES = 1_000_000
"""Most bytes of a text, above most models' context windows."""


def read_text_file(path: Path) -> str:
    """Return the text. Raises ValueError with fault and remedy, as the end of a sentence."""
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise ValueError("a folder stands in its place: put the file back")
        if not stat.S_ISREG(found.st_mode):  # opening a pipe would block
            raise ValueError("it is no ordinary file: put one in its place")
        with path.open("rb") as file:
            data = file.read(MOST_TEXT_BYTES + 1)
    except FileNotFoundError:
        raise ValueError("it is not there: put it back") from None
    except PermissionError:
        raise ValueError("this user may not read it: give it the right to (chmod u+r)") from None
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror}): put it back") from error
    return decode_text(data)


def decode_text(data: bytes) -> str:
    """Decode an owner's text. Raises ValueError with fault and remedy, as the end of a sentence."""
    if len(data) > MOST_TEXT_BYTES:
        raise ValueError(f"it is longer than {MOST_TEXT_BYTES:,} bytes: shorten it")
    if b"\0" in data:
        raise ValueError("it is binary, or not in UTF-8: save it as a text in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 from byte {error.start + 1} on: save it as UTF-8") from None


VERSION = "0.1.0"
COMMIT_DIGITS = 12


def project_root() -> Path:
    return Path(daemon.__file__).resolve().parent.parent


def version() -> str:
    """Return the version; in a checkout with the commit: `0.1.0 (47eb9e38)`."""
    git = project_root() / ".git"
    try:
        commit = (git / "HEAD").read_text().strip()
        if commit.startswith("ref: "):
            commit = (git / commit.removeprefix("ref: ")).read_text().strip()
    except (OSError, UnicodeDecodeError):  # no checkout, a linked work tree, or packed references
        return VERSION
    return f"{VERSION} ({commit[:COMMIT_DIGITS]})"


SETTINGS_HEAD = """# Settings

Each is a variable of the environment, or a line of `.env` (copy `.env.example`); the environment wins.
An empty one counts as not set. All are read once, at the start; what is wrong is said for all at once.
`python -m daemon settings` writes this page.

| variable | default | what it says |
|---|---|---|
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingLine:
    name: str
    default: str
    meaning: str


def settings_table() -> str:
    """Return the page docs/SETTINGS.md. Raises ConfigError without `.env.example`."""
    try:
        text = (project_root() / ".env.example").read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f".env.example cannot be read ({error.strerror}): put it back.") from error
    return SETTINGS_HEAD + "".join(f"{_settings_row(line)}\n" for line in setting_lines(text))


def setting_lines(example: str) -> Iterator[SettingLine]:
    """Yield each `#NAME=default` with the comment above it."""
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


LOAD_ERRORS = (
    SyntaxError,
    ImportError,
    NameError,
    AttributeError,
    TypeError,
    ValueError,
    LookupError,
    OSError,
    ArithmeticError,
    AssertionError,
    RuntimeError,
    SystemExit,
)
"""Errors that the import of a broken file can raise."""


def unloadable_reason(error: BaseException, file: Path) -> str:
    """Return the reason and the line of a failed import."""
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
    where = f" at line {lines[-1]}" if lines else ""
    return f"it cannot be read ({type(error).__name__}{where}: {error})"
