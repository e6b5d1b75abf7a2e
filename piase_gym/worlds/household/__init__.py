"""Household: ALFWorld's text games as a native engine, with homes of its own."""
