"""The console: the daemon's web page and its port."""
