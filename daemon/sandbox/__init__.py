"""Isolated execution of code that a model wrote, by monty or in CPython child processes."""
