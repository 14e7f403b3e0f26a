"""The docs for authors, followed literally."""
