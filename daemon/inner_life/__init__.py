"""Inner life."""
