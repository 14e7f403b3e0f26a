"""Parsing of model answers."""
