"""Slack's Web API, a file for each family of methods."""
