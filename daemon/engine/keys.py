"""How steps are named: a key is a path that says where in an execution it stands."""

from __future__ import annotations

import re

# thread@seq                      an execution: its thread, and the seq of its first input
# thread@seq~1                    the same, after its first restart
# thread@seq~failed               its last words, where it is given up (~stopped: where somebody stops it)
# thread@seq/draw#2               a step: the second `draw` of the trunk
# thread@seq/branch#1/draw#1      a step of a context within it
# thread@seq/:3f9a#1/draw#1       a step of a context that is named by its content
# thread@seq/:forgotten-7#1/draw  the same, when the words of its content are forgotten
# thread@seq/draw#2!done          a part of a step

PART = "!"
CONTENT = re.compile(r":[0-9a-f]{12}(?=#\d)")
"""The name of a context that is made of its content."""
RENAMED = ":forgotten-"
"""How the name of such a context begins when its content is forgotten."""
FAILED = "failed"
STOPPED = "stopped"


def root_of(thread: str) -> str:
    """The thread at the top of the tree that this one stands in: `a` of `a.b.c`."""
    return thread.partition(".")[0]


def parent_of(thread: str) -> str:
    """The thread directly above this one; empty where there is none."""
    return thread.rpartition(".")[0]


def context_of(key: str) -> str:
    """The path of the context that a step, or a context, stands in."""
    return key.rpartition("/")[0]


def execution_of(key: str) -> str:
    """The execution that recorded this, however often it was restarted."""
    return re.split("[/~!]", key)[0]


def part_key(key: str, name: str) -> str:
    """The key of what belongs to a step."""
    return f"{key}{PART}{name}"


def step_of(key: str) -> str:
    """The key of the step that this belongs to: itself, where it is no part."""
    return key.partition(PART)[0]


def is_part(key: str) -> bool:
    """Does it belong to a step, and is none itself?"""
    return PART in key


def is_named_by_content(path: str) -> bool:
    """Is this context named by what it is about, and not by where it stands?"""
    return path.rpartition("/")[2].startswith(":")


def is_renamed(key: str) -> bool:
    """True if it stands in a context that was named by what is forgotten: nobody can ask for it any more."""
    return f"/{RENAMED}" in key


def without_content_names(key: str, seq: int, names: dict[str, str]) -> str:
    """The key without names that were made of content.

    `names` are the contexts that were renamed so far, with their new paths; it grows. A new name is made of
    the first seq in that context.
    """
    parts = key.split("/")
    for place, name in enumerate(parts):
        old = "/".join(key.split("/")[: place + 1])
        if CONTENT.match(name):
            new = CONTENT.sub(f"{RENAMED}{seq}", name)
            names.setdefault(old, "/".join([*parts[:place], new]))
        if old in names:
            parts[: place + 1] = names[old].split("/")
    return "/".join(parts)


def enclosing_contexts(path: str, root: str) -> list[str]:
    """The contexts from `root` down to this one, both with it."""
    found = [path]
    while path != root and "/" in path:
        path = context_of(path)
        found.append(path)
    return found[::-1]


def restarted_path(execution: str, times: int) -> str:
    """The path of an execution after so many restarts."""
    return f"{execution}~{times}" if times else execution


def last_words_path(execution: str, name: str) -> str:
    """The path under which the end of an execution is told that does not run any more."""
    return f"{execution}~{name}"
