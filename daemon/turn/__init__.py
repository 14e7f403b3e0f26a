"""One turn: its state, and everything that it says, asks, counts and remembers."""
