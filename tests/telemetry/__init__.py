"""Tests of the room telemetry."""
