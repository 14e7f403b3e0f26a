"""The capabilities of the models of a local server, a line each: as they are kept, or looked up now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from daemon.claude.backend import ModelBackend
from daemon.claude.capabilities import Schema
from daemon.claude.client import ClaudeClient
from daemon.claude.probes import TEXTS, ask_probe
from daemon.claude.server_look_up import UNKNOWN_VERSION
from daemon.doctor.finding import Finding, well_finding
from daemon.ports import Clock
from daemon.reply import ModelReply
from daemon.soul.text_file import read_text_file

HEAD = ("model", "window", "JSON", "form", "images", "reads", "writes", "at once", "looked up")
FORMS = {"format": "by output_config", "grammar": "by a grammar", "prompt": "by the prompt alone"}
"""The means by which a model is held to a schema, in words."""
UNKNOWN_VALUE = "?"


async def capability_table(
    llm: ClaudeClient, clock: Clock, folder: Path, *, paid: bool
) -> AsyncIterator[Finding]:
    """Yield a head and a row for each model without a listed price; those in `folder` are the owner's texts.

    Where it is `paid`, what is not known is asked, which is kept for the daemon.
    """
    backend = llm.backend
    if backend.server is None or not backend.unlisted_models:
        return
    if paid:
        for model in backend.unlisted_models:
            await _ask_all(llm, clock, folder, model)
    rows = [HEAD, *(_row(backend, model) for model in backend.unlisted_models)]
    for line in align_columns(rows):
        yield well_finding("can do", line)
    yield well_finding("server", _server(backend))


async def _ask_all(llm: ClaudeClient, clock: Clock, folder: Path, model: str) -> None:
    async def ask(_: str, request: Mapping[str, Any], form: Schema | None) -> ModelReply:
        return await llm.probe(request, form, asyncio.Event())

    backend = llm.backend
    for question in backend.open_questions(model):
        if backend.note_server_statement(model, question, clock.now()):
            continue
        try:
            text = read_text_file(folder / f"{TEXTS[question]}.md")
        except ValueError:  # `texts` says what is wrong with it
            continue
        backend.note_finding(model, question, await ask_probe(question, model, text, ask), clock.now())


def _row(backend: ModelBackend, model: str) -> Sequence[str]:
    known, at = backend.capabilities(model), backend.looked_up_at(model)
    window = f"{known.window:,} tokens" if known.window else UNKNOWN_VALUE
    return (
        model,
        window,
        FORMS.get(known.schema or "", UNKNOWN_VALUE),
        _yes_or_no(known.keeps_sections, "sections", "plain"),
        _yes_or_no(known.images, "yes", "no"),
        _speed(known.prompt_speed),
        _speed(known.answer_speed),
        str(known.slots or UNKNOWN_VALUE),
        f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}" if at else "never",
    )


def _yes_or_no(value: bool | None, yes: str, no: str) -> str:
    if value is None:
        return UNKNOWN_VALUE
    return yes if value else no


def _speed(tokens: float | None) -> str:
    return f"{tokens:g} tokens/s" if tokens else UNKNOWN_VALUE


def align_columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a line for each row, with their columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()


def _server(backend: ModelBackend) -> str:
    server = backend.server
    assert server is not None
    said = server.address
    if server.version != UNKNOWN_VERSION:
        said += f": {server.version}"
    if server.models is None:
        return f"{said}; it shows no list of models ({server.why}), so every name is accepted"
    return said
