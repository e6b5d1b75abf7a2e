"""Players of Household: the oracle, and a searcher who knows only what it has seen."""
