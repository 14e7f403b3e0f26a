"""What is wrong with this daemon and how to mend it: one finding for each thing that it needs."""
