"""Tests of ObjectSearch."""
