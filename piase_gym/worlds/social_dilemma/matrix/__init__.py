"""Matrix games: a table of payoffs, played over and over."""
