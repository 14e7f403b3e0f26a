"""Processes as their authors write them, in the whole daemon."""
