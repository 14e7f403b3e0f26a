"""Commands of the inner life; each file lists the functions that make its commands in `COMMANDS`."""
