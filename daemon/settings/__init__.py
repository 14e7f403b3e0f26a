"""Settings of the owner."""
