"""The console: what the soul thinks, shown in a browser as it grows; and who may look at it."""
