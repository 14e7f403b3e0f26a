"""The inner life: what it notes, keeps and starts, and what its ticks are shown (HMP seed)."""
