"""The oracle of GridWorld, its script, and how they search."""
