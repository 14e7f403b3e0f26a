"""All mutants."""

from __future__ import annotations

from tests.mutants.answers_said_once import ANSWERS_SAID_ONCE
from tests.mutants.consent import CONSENT
from tests.mutants.daemons_in_slack import DAEMONS_IN_SLACK
from tests.mutants.forgetting import FORGETTING
from tests.mutants.inner_life_bounds import INNER_LIFE_BOUNDS
from tests.mutants.journal_entries import JOURNAL_ENTRIES
from tests.mutants.money import MONEY
from tests.mutants.mutant import Mutant
from tests.mutants.one_worker import ONE_WORKER
from tests.mutants.page_access import PAGE_ACCESS
from tests.mutants.privacy import PRIVACY
from tests.mutants.several_daemons import SEVERAL_DAEMONS
from tests.mutants.shared_log import SHARED_LOG
from tests.mutants.soul_clients import SOUL_CLIENTS
from tests.mutants.tool_calls import TOOL_CALLS
from tests.mutants.tool_consent import TOOL_CONSENT

ALL: tuple[Mutant, ...] = (
    *JOURNAL_ENTRIES,
    *ONE_WORKER,
    *SHARED_LOG,
    *SEVERAL_DAEMONS,
    *ANSWERS_SAID_ONCE,
    *CONSENT,
    *PRIVACY,
    *FORGETTING,
    *MONEY,
    *PAGE_ACCESS,
    *INNER_LIFE_BOUNDS,
    *SOUL_CLIENTS,
    *TOOL_CALLS,
    *TOOL_CONSENT,
    *DAEMONS_IN_SLACK,
)
