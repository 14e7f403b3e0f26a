"""What is remembered: an append-only journal, its lock, its writer, and the projections folded from it."""
