"""A projection of the page's own, of a few fields of many entries: folded when somebody looks, and quickly.

The fields are read beside the loop and no entry is made of them, so that the first look at a journal of years
takes a moment; a start takes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from daemon.engine.reading import Reading
from daemon.knowledge.projection import Projection

Fields = Mapping[str, Any]
"""By path; None where an entry has no such field."""


class Fold(Projection):
    """Derive from it: `paths` are the fields of its kinds that `_take_fields` is given, row by row."""

    paths: ClassVar[tuple[str, ...]] = ()
    far_behind = 500

    def _to_fold(self, journal: Reading, last: int) -> Sequence[Any]:
        rows = journal.fields(self.kinds, self.paths, self._upto)
        return [row for row in rows if row[0] <= last]

    def _take_all(self, found: Sequence[Any]) -> None:
        for seq, thread, kind, at, fields in found:
            if seq > self._upto:
                values = dict(zip(self.paths, json.loads(fields), strict=True))
                self._take_fields(seq, thread, kind, at, values)
                self.folded = self._upto = seq

    def _take_fields(self, seq: int, thread: str, kind: str, at: float, fields: Fields) -> None:
        raise NotImplementedError
