"""The built-in actions and commands, as far as they can work here: the one registry. Made by app.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daemon.actions.action import Definition
from daemon.actions.asking import ASK_PERSON, SCHEDULE, escalate
from daemon.actions.commands import all_commands
from daemon.actions.help_command import help_command
from daemon.actions.memories import REMEMBER, read_thread, search_memory
from daemon.actions.reading import Shelf, read_deeply
from daemon.actions.registry import Registry
from daemon.actions.research import research
from daemon.actions.thinking import RESPOND, THINK
from daemon.documents.document import Document
from daemon.ports import Library, Memories, Said


def built_in(
    memories: Memories,
    library: Library | None,
    shelf: Shelf | None,
    *,
    expert: bool,
    inner: Sequence[Definition] = (),
) -> Registry:
    """All of them; without the owner's folders there is no Research, without a shelf no ReadDeeply.

    `inner` are the commands of the inner life.
    """
    registry = Registry(
        [
            THINK,
            RESPOND,
            ASK_PERSON,
            *([research(library)] if library else []),
            *([read_deeply(shelf, library)] if shelf else []),
            search_memory(memories),
            read_thread(memories),
            REMEMBER,
            SCHEDULE,
            escalate(expert=expert),
            help_command(lambda: registry.commands),
            *inner,
        ]
    )
    return registry


class Nowhere:
    """Implements Memories, Library and Shelf for whoever only reads what the actions are called."""

    behind = False

    async def search(self, *_: object) -> Any:
        return ()

    async def read(self, *_: object, **__: object) -> Sequence[str]:
        return ()

    async def earlier(self, *_: object, **__: object) -> Sequence[Said]:
        return ()

    async def files(self, *_: object) -> Sequence[Document]:
        return ()

    thread = channel = files


class Stand:
    """Stands for what commands work with, for whoever only reads what they are called."""

    def __getattr__(self, name: str) -> Any:
        return self


def catalogue() -> Registry:
    """All that there could be: for checks and documents."""
    return built_in(Nowhere(), Nowhere(), Nowhere(), expert=True, inner=all_commands(Stand()))
