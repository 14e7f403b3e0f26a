"""Mental processes: one mode of behaviour in each file."""
