"""How it thinks: recall, cognitive steps, the fused pipeline. No I/O: the model arrives with the turn."""
