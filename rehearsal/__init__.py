"""Local Slack and Claude for rehearsals, independent of the daemon."""
