"""Addresses and connections."""
