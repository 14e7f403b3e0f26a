"""Tests of the room actions."""
