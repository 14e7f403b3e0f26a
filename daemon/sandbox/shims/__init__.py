"""Replacements for standard library modules that monty lacks; their source runs inside the sandbox."""
