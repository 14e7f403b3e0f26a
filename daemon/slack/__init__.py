"""Slack surface: envelopes in, speech out."""
