"""A child that reports its environment, folder, limits and write access."""

import json
import os
import resource
from collections.abc import Mapping
from pathlib import Path

from daemon.documents.parsing_child import ChildLimits, run_child


def tell(data: bytes, room: ChildLimits) -> tuple[str, Mapping[str, int]]:
    limits = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_CORE", "RLIMIT_NOFILE")
    told = {name: resource.getrlimit(getattr(resource, name)) for name in limits}
    try:
        Path(data.decode()).write_text("x", encoding="utf-8")
        wrote = True
    except OSError:
        wrote = False
    return json.dumps({"environ": [*os.environ], "wrote": wrote, "folder": str(Path.cwd()), **told}), {}


if __name__ == "__main__":
    run_child(tell)
