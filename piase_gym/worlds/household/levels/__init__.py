"""Homes: read from PDDL files, or generated."""
