"""Knowledge that can be looked up, and where it may be known."""
