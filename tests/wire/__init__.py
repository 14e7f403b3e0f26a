"""Crash harness over the real wire: daemon and world in separate processes."""
