"""The Slack surface: envelopes become journal entries, speech becomes calls. It never touches a process."""
