"""Tests of physics_playground."""
