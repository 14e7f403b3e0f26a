"""When it thinks, piece by piece."""
