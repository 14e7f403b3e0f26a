"""What of the records may go to a neighbour: the words alone, without tags, flags and links."""

from __future__ import annotations

from collections.abc import Sequence

from daemon.inner.reaching import BringShared, Shared
from daemon.inner.record import LINKS, words
from daemon.inner.records import Records


def shared(records: Records) -> BringShared:
    """Brings the records of these ids, whoever may know them: that is for whoever shares them to see to."""

    async def brought(ids: Sequence[int]) -> Sequence[Shared]:
        await records.update()
        may_go = [one for one in records.everywhere(ids) if one.family != LINKS]
        return [Shared(id=one.id, text=words(one), view=one.view, wrote=one.wrote) for one in may_go]

    return brought
