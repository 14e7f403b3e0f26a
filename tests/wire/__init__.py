"""The crash harness over the real wire: the daemon as one process, its world as another, and the kills."""
