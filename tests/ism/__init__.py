"""Runs of the ISM: plain callables around it, no daemon."""
