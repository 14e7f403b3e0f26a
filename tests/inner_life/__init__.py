"""Tests of the room inner_life."""
