"""How it thinks, without a world around it."""
