"""Tests of ScreenSearch."""
