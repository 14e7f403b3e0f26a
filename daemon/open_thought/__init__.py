"""Payloads in an answer of open thought: parsing and execution."""
