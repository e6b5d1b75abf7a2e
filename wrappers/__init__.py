"""Wrappers over the parallel face: one wrapper a file."""
