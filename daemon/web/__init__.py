"""The network: addresses that may be fetched, and connections that hold to it."""
