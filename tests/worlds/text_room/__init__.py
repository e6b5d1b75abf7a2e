"""Tests of text_room."""
