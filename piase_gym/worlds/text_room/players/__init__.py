"""TextRoom's oracle; imports nothing itself."""
