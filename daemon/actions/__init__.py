"""What the soul can do: the registry of actions, the built-in ones, and the runs of the ISM that choose them."""
