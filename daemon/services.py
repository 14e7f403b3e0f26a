"""What a daemon has, once for all who need it: made by app, used by what behaves and what is shown."""

from __future__ import annotations

from dataclasses import dataclass

from config import Settings
from daemon.claude.client import ClaudeClient
from daemon.claude.request_queue import RequestQueue
from daemon.console.unrecorded import LiveCalls
from daemon.engine.journal import Journal
from daemon.knowledge.folders import FolderLibrary
from daemon.knowledge.journal_index import FullTextIndex
from daemon.ports import Clock
from daemon.slack.surface import SlackSurface
from daemon.soul.budget import DailyBudget
from daemon.soul.reach import ModelAvailability
from daemon.soul.texts import PromptFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonServices:
    """What these settings come to. It answers at `url`; `queue` stands before the models; `thinking` is
    what a page sees of a thought that is not recorded yet, and `library` what stands in the owner's folders,
    where there are any.
    """

    settings: Settings
    clock: Clock
    url: str
    journal: Journal
    index: FullTextIndex
    texts: PromptFiles
    claude: ClaudeClient
    queue: RequestQueue
    slack: SlackSurface
    budget: DailyBudget
    reach: ModelAvailability
    thinking: LiveCalls
    library: FolderLibrary | None
