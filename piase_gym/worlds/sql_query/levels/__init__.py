"""Databases and questions, generated or loaded from files."""
