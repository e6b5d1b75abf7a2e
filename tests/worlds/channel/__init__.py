"""Tests of the channel between agents."""
