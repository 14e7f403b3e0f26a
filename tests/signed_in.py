"""A home, and a browser, that have been here before: the lasting token of the page is known to both."""

from __future__ import annotations

import json
from pathlib import Path

from daemon.settings.home import TOKEN as NAME
from daemon.settings.home import write_private

TOKEN = "let-in-wherever-a-test-looks-at-the-page"
SHOWN = {"X-Console-Token": TOKEN}
LINE = f"X-Console-Token: {TOKEN}\r\n"
SIGNED_IN = f"""
  try {{
    localStorage.getItem("session") ?? localStorage.setItem("session", {json.dumps(TOKEN)});
  }} catch {{
    // a page that has no storage
  }}
"""
"""Makes every page of a browser show it, as if it were the secret of a session."""


def known_in(home: Path) -> None:
    """The daemon of this home finds this token there, as one that it has made."""
    home.mkdir(mode=0o700, exist_ok=True)
    write_private(home / NAME, f"{TOKEN}\n")
