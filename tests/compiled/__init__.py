"""Tests of compiled."""
