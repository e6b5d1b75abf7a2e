"""Databases and questions: of our own, or loaded from files."""
