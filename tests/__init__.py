"""Tests of piase_gym."""
