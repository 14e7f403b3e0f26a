"""Words of DMs that no tick has seen: shown if the owner lets the soul see them (INNER_LIFE_READS_DMS).

Each tick has one DM in view, so that the words of one are never beside those of another.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemon.engine.reading import ALWAYS
from daemon.inner.agent_log import MOST_TICKS
from daemon.inner.note import Note
from daemon.inner.state import InnerLifeState


def unseen_dms(state: InnerLifeState) -> Sequence[Note]:
    """Return the notes from DMs that were shown in no tick with an answer, in order.

    Those from before the soul might read along are not among them, nor those from before the last `MOST`
    answers.
    """
    log = state.log
    if log.dms_since == ALWAYS:
        return ()
    since = log.dms_since
    if len(log.thoughts) == MOST_TICKS:
        since = max(since, log.thoughts[0].tick.tick)
    seen = {seq for line in log.thoughts for seq in line.tick.saw}
    notes = [state.notes.get(id) for id in state.notes.new_since(since)]
    return [one for one in notes if one and one.source == "dm" and not one.hidden and one.said not in seen]
