"""Wiring of the daemon, and its commands."""
