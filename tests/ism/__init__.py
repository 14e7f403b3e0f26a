"""Runs of the ISM with plain callables, without a daemon."""
