"""Inner life: notes, records, ticks and their contexts."""
