"""Benchmarks of the daemon against the bare libraries: `python -m benchmarks`."""
