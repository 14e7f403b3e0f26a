"""Fake model servers on loopback ports."""
