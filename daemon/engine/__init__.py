"""Durable execution of programs, independent of Slack and of models."""
