"""Runs of the ISM by a playbook, and the built-in actions."""
