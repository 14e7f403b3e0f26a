"""Setup made once before forking."""

from __future__ import annotations

import gc
from pathlib import Path

from daemon.engine.kinds import with_engine_kinds
from daemon.kinds import SOUL_KINDS
from daemon.prompts.prompt_catalogue import PLAYBOOK_FOLDER, parse_playbook


def make_before_a_fork(words: Path) -> None:
    """Build validators and playbooks, and freeze them so that no fork copies them."""
    with_engine_kinds(SOUL_KINDS)
    for path in (words / PLAYBOOK_FOLDER).glob("*.md"):
        parse_playbook(path.stem, path.read_text(encoding="utf-8-sig"))
    gc.collect()
    gc.freeze()
