"""Page token that a home and a browser share."""

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
"""Script that stores the token as a page's session secret."""


def known_in(home: Path) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    write_private(home / NAME, f"{TOKEN}\n")
