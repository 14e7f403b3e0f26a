"""Files of JSON lines, which outlive worker runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def append_line(path: Path, value: Any) -> None:
    with path.open("a") as file:
        file.write(json.dumps(value) + "\n")


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
