"""Small modules of the standard library that monty has not. Their source is run inside the sandbox."""
