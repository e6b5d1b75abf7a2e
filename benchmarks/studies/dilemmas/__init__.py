"""How policies fare in social dilemmas: against fixed strategies, and in a commons."""
