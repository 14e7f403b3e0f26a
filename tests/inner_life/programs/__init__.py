"""Tests of the room programs."""
