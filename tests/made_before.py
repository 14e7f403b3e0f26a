"""What each daemon makes once, made before lives are forked: none of them has to make it anew."""

from __future__ import annotations

import gc
from pathlib import Path

from daemon.engine.kinds import with_engine_kinds
from daemon.kinds import SOUL_KINDS
from daemon.prompts.prompt_catalogue import PLAYBOOK_FOLDER, parse_playbook


def make_before_a_fork(words: Path) -> None:
    """How each kind of entry is checked, and what the playbooks in this folder say.

    What is there by then is left alone by every collection of garbage, so no life copies it, either.
    """
    with_engine_kinds(SOUL_KINDS)
    for path in (words / PLAYBOOK_FOLDER).glob("*.md"):
        parse_playbook(path.stem, path.read_text(encoding="utf-8-sig"))
    gc.collect()
    gc.freeze()
