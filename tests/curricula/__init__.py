"""Tests of curricula."""
