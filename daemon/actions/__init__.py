"""What the soul can do: the registry of actions, the built-in ones, and the runs that choose among them."""
