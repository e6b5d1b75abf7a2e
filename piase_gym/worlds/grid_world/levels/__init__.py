"""How levels of GridWorld are made."""
