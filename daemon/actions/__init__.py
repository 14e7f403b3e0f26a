"""Actions of the soul: definitions, registry, and actions written as functions."""
