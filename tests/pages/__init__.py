"""The pages for whoever writes for it, each followed as it stands there."""
