"""Tests of the room prompts."""
