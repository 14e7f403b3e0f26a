"""Readings: cells and sub-calls over a long text."""
