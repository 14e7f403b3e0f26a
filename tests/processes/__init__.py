"""Authors' processes in the whole daemon."""
