"""Reading, citing and checking shared documents."""
