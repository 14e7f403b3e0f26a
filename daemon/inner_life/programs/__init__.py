"""Programs of the owner's list that the inner life may run."""
