"""Playbooks."""
