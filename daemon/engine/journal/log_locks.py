"""Advisory locks of a log, which its database holds by number."""

from __future__ import annotations

from enum import IntEnum, unique


@unique
class LogLock(IntEnum):
    """First key of each lock; the second one is the hash of the log's schema."""

    SCHEMA = 7304
    """Tables are made, migrated, or filled by a move."""
    APPEND = 7305
    """Seqs are given."""
    ERASING = 7306
    """Forgotten words are removed from the log, which may take seconds."""
    PLACES = 7307
    """Places at the model server are given."""
    SPENDING = 7308
    """Dollars of the day are reserved."""
