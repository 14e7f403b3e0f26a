"""Short words of the owner's for buttons and the status line, by what they mean. A pure reading."""

from __future__ import annotations

LABELS = "prompts/labels"


def labels(text: str) -> dict[str, str]:
    """The labels of a labels file: lines `- meaning: label`; all others are notes."""
    lines = (line.removeprefix("- ").partition(":") for line in text.splitlines() if line.startswith("- "))
    return {name.strip(): label.strip() for name, _, label in lines if label.strip()}
