"""Open thought."""
