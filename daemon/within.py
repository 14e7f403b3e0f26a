"""The inner life of these settings: what it knows, may do and may use; and how it begins. For app."""

from __future__ import annotations

from contextlib import ExitStack

from daemon.engine.journal import Journal
from daemon.inner.agent_log import AgentLog
from daemon.inner.notes import Notes
from daemon.inner.process_log import ProcessLog
from daemon.inner.records import Records
from daemon.inner.said import SaidLog
from daemon.inner.state import State
from daemon.inner.views import Views
from daemon.kinds import INNER, InnerBegan
from daemon.knowledge.places import Places


def state_of(journal: Journal, stack: ExitStack) -> State:
    """All that it knows, folded from the journal whenever it is asked; what it searches is open until the
    stack is."""
    views = Views(Places(journal))
    return State(
        log=AgentLog(journal),
        notes=Notes(journal),
        records=stack.enter_context(Records(journal, views)),
        processes=ProcessLog(journal),
        said=SaidLog(journal),
        views=views,
    )


async def begin(journal: Journal) -> None:
    """The daemon was started with an inner life: it is told so before anything else comes to it."""
    await journal.append(INNER, InnerBegan(), key=f"inner-began:{journal.last()}")
