"""Places to search: a line of positions, or a house."""
