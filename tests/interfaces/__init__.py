"""Tests of interfaces."""
