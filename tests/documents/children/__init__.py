"""Children that are not what they should be: what a file would make of ours, if it could."""
