"""Measured numbers, as the commands wrote them; README and docs quote these files."""
