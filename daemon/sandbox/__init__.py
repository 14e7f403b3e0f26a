"""Isolated execution of code that a model wrote, in monty or in CPython child processes."""
