"""Wiring of the daemon, and the commands of its command line."""
