"""Tests of Household."""
