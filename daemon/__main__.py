"""The commands: `python -m daemon` runs the soul, `python -m daemon rehearse` only a world to rehearse in."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys

from config import load
from daemon.errors import ConfigError, JournalError, JournalHeld

MISCONFIGURED = 78
"""EX_CONFIG of sysexits.h: the owner has to change something; a restart does not help."""
UNWRITABLE = 74
"""EX_IOERR: the journal cannot be read or written; a restart may help."""


def main() -> int:
    """Run a command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m daemon", description="A soul for a Slack workspace.")
    parser.add_argument(
        "command",
        nargs="?",
        choices=("run", "rehearse"),
        default="run",
        help="run: the daemon (the default); rehearse: only a local Slack and a local Claude",
    )
    command = parser.parse_args().command
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        settings = load()
        from daemon import app, lifetime  # after the settings: a bad key answers at once

        work = app.rehearse(settings) if command == "rehearse" else app.run(settings)
        asyncio.run(lifetime.until_told(work))
    except (ConfigError, JournalError) as error:
        print(error, file=sys.stderr)
        return MISCONFIGURED if isinstance(error, ConfigError | JournalHeld) else UNWRITABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
