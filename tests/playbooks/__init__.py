"""Tests of the room playbooks."""
