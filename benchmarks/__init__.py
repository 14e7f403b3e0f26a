"""How fast the daemon is, beside the bare libraries in the same run: `python -m benchmarks`."""
