"""Model servers as they are found in the wild, on loopback ports."""
