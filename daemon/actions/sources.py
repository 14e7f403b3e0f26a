"""Where what is to be read comes from: files that people shared, a thread, a channel's history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from daemon.documents.document import Document


class SourceProvider(Protocol):
    """Where what is to be read comes from. Each raises DocumentError, with a sentence for whoever asked."""

    async def files(self, thread: str, names: Sequence[str], until: float) -> Sequence[Document]:
        """The files that were shared in this conversation by then: those of these names, or all."""

    async def thread(self, thread: str, until: float) -> Sequence[Document]:
        """All that was said in this conversation by then; a message is a part, named by its permalink."""

    async def channel(
        self, thread: str, name: str, days: int, until: float, askers: Sequence[str]
    ) -> Sequence[Document]:
        """What was said in a channel in so many days up to then; without a name, in this one.

        Of another channel only what may be known here, and where all who ask are members.
        """
