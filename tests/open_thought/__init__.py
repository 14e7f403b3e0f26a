"""Tests of the room open_thought."""
