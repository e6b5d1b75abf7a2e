"""What agents of a GridWorld see, and its pictures."""
