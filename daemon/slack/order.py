"""One at a time for each key: for the inbox and the names."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from weakref import WeakValueDictionary


class KeyedLock:
    """A lock for each key that is in use, and nothing for any other."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def lock_for(self, key: Hashable) -> asyncio.Lock:
        """The lock of this key; it lives while somebody holds it or waits for it."""
        return self._locks.setdefault(key, asyncio.Lock())
