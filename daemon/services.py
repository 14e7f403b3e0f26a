"""What a daemon has, once for all who need it: made by app, used by what behaves and what is shown."""

from __future__ import annotations

from dataclasses import dataclass

from config import Settings
from daemon.claude.client import Claude
from daemon.claude.request_queue import RequestQueue
from daemon.console.unrecorded import Thinking
from daemon.engine.journal import Journal
from daemon.knowledge.folders import Folders
from daemon.knowledge.journal_index import JournalIndex
from daemon.ports import Clock
from daemon.slack.surface import Slack
from daemon.soul.budget import Budget
from daemon.soul.reach import Reach
from daemon.soul.texts import Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What these settings come to. It answers at `url`; `queue` stands before the models; `thinking` is
    what a page sees of a thought that is not recorded yet, and `library` what stands in the owner's folders,
    where there are any.
    """

    settings: Settings
    clock: Clock
    url: str
    journal: Journal
    index: JournalIndex
    texts: Texts
    claude: Claude
    queue: RequestQueue
    slack: Slack
    budget: Budget
    reach: Reach
    thinking: Thinking
    library: Folders | None
