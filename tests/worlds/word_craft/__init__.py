"""Tests of WordCraft."""
