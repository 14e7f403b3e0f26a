"""Questions to a server that need no call of a model: on its list of models, its version, its slots.

It costs nothing. Redirects are not followed: the key goes to no other address than the one that is set.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import httpx2

from daemon.claude.capabilities import is_count
from daemon.claude.failure import FAILURES, failure_cause
from daemon.claude.model_list import ListedModel, ModelList, models_in

MOST_ANSWER_BYTES = 8_000_000
"""Bytes of one answer that are read: 10,000 models have two million."""
PAGE = 1_000
"""Models that are asked for at once."""
MOST_PAGES = 20
"""Pages of a list that are read; what comes after them is not known."""
SILENCE = httpx2.Timeout(10.0)
"""Seconds without a byte after which the server counts as silent."""
HEADS = {"accept": "application/json"}
UNKNOWN_VERSION = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDescription:
    """The words of the server at an address. `models` is None where it has no list: `why` says what it said
    instead. `version` names its program, too. `windows` are those of models that are loaded, by name;
    `images`: whether the model that it serves takes them."""

    address: str
    models: ModelList | None = None
    why: str = ""
    version: str = UNKNOWN_VERSION
    slots: int | None = None
    window: int | None = None
    images: bool | None = None
    windows: Mapping[str, int] = field(default_factory=dict)


class ServerAnswerMissing(Exception):
    """The server answered a question with no JSON object; the text says what it did, without its words."""

    recorded_name = "NoAnswer"


class ServerLookUp:
    """Asks the server whose API stands at `url` (with or without `/v1`), over this HTTP client.

    `headers` go along with each question: they hold the key.
    """

    def __init__(self, http: httpx2.AsyncClient, url: str, headers: Mapping[str, str]) -> None:
        self._http = http
        sent = {name: value for name, value in headers.items() if name.lower() != "content-type"}
        self._headers = {**sent, **HEADS}
        self._root = url.rstrip("/").removesuffix("/v1")
        self.address = without_secrets(self._root, headers)

    async def models(self) -> ServerDescription:
        """Return the list alone."""
        try:
            return ServerDescription(address=self.address, models=await self._list())
        except ServerAnswerMissing as said:
            return ServerDescription(address=self.address, why=str(said))

    async def details(self, server: ServerDescription) -> ServerDescription:
        """Return what else the server says, beside its list: which one it is, and what it serves how."""
        props, ollama, vllm = await asyncio.gather(*map(self._maybe, ("/props", "/api/version", "/version")))
        if "build_info" in props or "total_slots" in props:
            return _llama_server(server, props)
        if isinstance(ollama.get("version"), str):
            loaded = models_in(await self._maybe("/api/ps")) or []
            windows = {one.name: one.believed_window for one in loaded}
            return replace(
                server,
                version=f"Ollama {ollama['version'][:40]}",
                windows={name: window for name, window in windows.items() if window},
            )
        if isinstance(vllm.get("version"), str):
            return replace(server, version=f"vLLM {vllm['version'][:40]}")
        return server

    async def _list(self) -> ModelList:
        """Raises NoAnswer."""
        found: list[ListedModel] = []
        after = ""
        for _ in range(MOST_PAGES):
            asked = {"limit": PAGE} | ({"after_id": after} if after else {})
            body = await self._ask(f"/v1/models?{urlencode(asked)}")
            page = models_in(body)
            if page is None:
                raise ServerAnswerMissing("it answered with something that is no list of models")
            found += page
            last = body.get("last_id") if isinstance(body, Mapping) else None
            if not (isinstance(body, Mapping) and body.get("has_more") is True) or not page:
                return ModelList(models=found)
            if not isinstance(last, str) or last == after:
                break
            after = last
        return ModelList(models=found, is_whole=False)

    async def _maybe(self, path: str) -> Mapping[str, Any]:
        """The JSON object at this path; an empty one where there is none."""
        try:
            body = await self._ask(path)
        except ServerAnswerMissing:
            return {}
        return body if isinstance(body, Mapping) else {}

    async def _ask(self, path: str) -> Any:
        """The JSON at this path. Raises NoAnswer."""
        data = bytearray()
        try:
            asked = self._http.stream("GET", self._root + path, headers=self._headers, follow_redirects=False)
            async with asked as response:
                if response.is_redirect:
                    raise ServerAnswerMissing(f"it answered with a redirect (HTTP {response.status_code})")
                if not response.is_success:
                    raise ServerAnswerMissing(f"it answered with HTTP {response.status_code}")
                async for piece in response.aiter_bytes():
                    data += piece
                    if len(data) > MOST_ANSWER_BYTES:
                        raise ServerAnswerMissing(
                            f"its answer is longer than {MOST_ANSWER_BYTES // 1_000_000} MB"
                        )
        except (*FAILURES, OSError) as error:
            raise ServerAnswerMissing(failure_cause(error) or "the connection breaks") from error
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise ServerAnswerMissing("it answered with something that is no JSON") from None


def without_secrets(url: str, headers: Mapping[str, str]) -> str:
    """The URL as it may be shown and kept: without a user, a query, or a key that is sent anyway."""
    parts = urlsplit(url)
    path = parts.path
    for value in headers.values():
        secret = value.rpartition(" ")[2]
        if len(secret) > 3:
            path = path.replace(secret, "…")
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path.rstrip("/"), "", ""))


def _llama_server(server: ServerDescription, props: Mapping[str, Any]) -> ServerDescription:
    build = props.get("build_info")
    settings, modalities = props.get("default_generation_settings"), props.get("modalities")
    window = settings.get("n_ctx") if isinstance(settings, Mapping) else None
    images = modalities.get("vision") if isinstance(modalities, Mapping) else None
    slots = props.get("total_slots")
    return replace(
        server,
        version=f"llama-server {build[:40]}" if isinstance(build, str) and build else "llama-server",
        slots=slots if is_count(slots) else None,
        window=window if is_count(window) else None,
        images=images if isinstance(images, bool) else None,
    )
