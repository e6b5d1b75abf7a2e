"""Tests of grid_world."""
