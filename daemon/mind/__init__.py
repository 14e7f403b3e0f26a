"""Cognitive steps and the pipeline, without I/O."""
