"""Mental processes: each file is one mode of behaviour."""
