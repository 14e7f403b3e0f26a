"""Durable execution: a library of its own, which knows no Slack, no model and no soul."""
