"""TextRoom's oracle and its explorer; imports nothing itself."""
