"""Shared and hostile files, and citations of them."""
