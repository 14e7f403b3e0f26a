"""What the soul can look up, and what of it may be known where."""
