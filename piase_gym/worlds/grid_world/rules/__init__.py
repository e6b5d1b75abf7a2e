"""What a step of GridWorld does. Compiled."""
