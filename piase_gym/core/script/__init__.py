"""Scripts: what a scenario adds to the rules of a world. Goals, conditions, events, rewards."""
