"""Texts for models: prompts, playbooks, and the elements in them."""
