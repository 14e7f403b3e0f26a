"""Durable execution, independent of Slack and models."""
