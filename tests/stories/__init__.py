"""Tests through real bolt, anthropic SDK and SQLite in a rehearsed world."""
