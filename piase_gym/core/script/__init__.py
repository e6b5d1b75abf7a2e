"""Scripts: what a scenario adds to a world's rules (goals, conditions, events, rewards)."""
