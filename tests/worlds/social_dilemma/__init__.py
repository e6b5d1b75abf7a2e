"""Tests of social_dilemma."""
