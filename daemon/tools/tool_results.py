"""Results of tools as text for the model: text, structured content, images, resources and links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from daemon.engine.event import storable_text
from daemon.sandbox.foreign_output import strip_control_text
from daemon.tools.tool_call import ToolResult

MOST_LINKS = 100
"""Most resources that a result may link."""

MOST_NAME = 200
"""Most characters of a name or type in a description."""

EMPTY = "[The tool returned nothing.]"


def read_result(result: CallToolResult) -> ToolResult:
    """Return the result as text. Structured content is left out where a text block repeats it."""
    parts = [_describe_block(block) for block in result.content]
    structured = result.structured_content
    if structured is not None and not _is_repeated(structured, result.content):
        parts.append(json.dumps(structured, ensure_ascii=False))
    links = [block.uri for block in result.content if isinstance(block, ResourceLink)]
    text = clean_text("\n\n".join(filter(None, parts))).strip()
    return ToolResult(text=text or EMPTY, is_error=result.is_error, links=tuple(links[:MOST_LINKS]))


def read_contents(contents: Sequence[TextResourceContents | BlobResourceContents]) -> ToolResult:
    """Return the contents of a resource as text."""
    text = clean_text("\n\n".join(_describe_contents(one) for one in contents)).strip()
    return ToolResult(text=text or EMPTY)


def clean_text(text: str) -> str:
    """Return text that can be stored and shown: no half surrogates, NUL or terminal escapes."""
    return storable_text(strip_control_text(text))


def _is_repeated(structured: Any, blocks: Sequence[ContentBlock]) -> bool:
    """True if a text block says what the structured content says, as servers are advised to send it."""
    texts = [block.text for block in blocks if isinstance(block, TextContent)]
    if isinstance(structured, dict) and [*structured] == ["result"] and texts == [structured["result"]]:
        return True  # the Python SDK wraps plain values so
    forms = {_without_blanks(json.dumps(structured, ensure_ascii=is_ascii)) for is_ascii in (True, False)}
    return any(_without_blanks(text) in forms for text in texts)


def _without_blanks(text: str) -> str:
    return "".join(text.split())


def _describe_block(block: ContentBlock) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent():
            return f"[Image: {_cut(block.mime_type)}, {_size(block.data)}]"
        case AudioContent():
            return f"[Sound: {_cut(block.mime_type)}, {_size(block.data)}]"
        case EmbeddedResource():
            return _describe_contents(block.resource)
        case ResourceLink():
            said = f"[Resource: {_cut(block.title or block.name)}, {_cut(block.uri)}"
            more = [block.mime_type, f"{block.size:,} bytes" if block.size is not None else None]
            return ", ".join([said, *(_cut(one) for one in more if one)]) + "]"
    return ""


def _describe_contents(resource: TextResourceContents | BlobResourceContents) -> str:
    kind = _cut(resource.mime_type or "unknown type")
    if isinstance(resource, TextResourceContents):
        return f"[Resource {_cut(resource.uri)}, {kind}:]\n{resource.text}"
    return f"[Resource {_cut(resource.uri)}: {kind}, {_size(resource.blob)}]"


def _cut(text: str) -> str:
    return " ".join(text.split())[:MOST_NAME]


def _size(data: str) -> str:
    """Return the size of base64 data, which need not be valid."""
    return f"{len(data) * 3 // 4 - data[-2:].count('='):,} bytes"
