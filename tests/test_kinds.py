"""Kinds of entries and their docs."""

from __future__ import annotations

from dataclasses import replace

from daemon.app.journal_commands import kinds_table
from daemon.engine.event import UNHASHED
from daemon.engine.kinds import with_engine_kinds
from daemon.kinds import SOUL_KINDS, ModelCall
from tests.source import ROOT

HEADING = "## Kinds of entries\n\n"


def test_the_table_in_the_docs_is_made_from_the_classes() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    said = page.partition(HEADING)[2].partition("\n\n")[0] + "\n"
    assert said == kinds_table(), "put the output of `python -m daemon kinds` there"


def test_what_closes_a_kind_or_is_its_receipt_is_known() -> None:
    kinds = {each.kind: each for each in with_engine_kinds(SOUL_KINDS)}
    for each in kinds.values():
        assert each.closed_by <= kinds.keys(), each
        assert bool(each.closed_by) == each.pending, each
        assert not each.receipt_of or kinds[each.receipt_of].pending, each


def test_a_request_hash_goes_also_where_the_call_stays() -> None:
    kinds = with_engine_kinds(SOUL_KINDS)
    call = ModelCall(
        name="talk",
        role="speak",
        saw="0123456789abcdef",
        texts=(),
        seqs=(),
        trailing="",
        wording=(),
        people=(),
        outcome="ok",
        model="m",
        text="Hello.",
        fingerprint="fedcba9876543210",
    )
    left = kinds.load(call.kind, kinds.unhash(call.kind, kinds.dump(call)))
    assert left == replace(call, saw=UNHASHED, fingerprint=UNHASHED)
    assert kinds.unhash(call.kind, "no JSON") == "no JSON"
