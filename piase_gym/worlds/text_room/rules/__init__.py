"""TextRoom's rules: commands, events, conditions, ends; imports nothing itself."""
