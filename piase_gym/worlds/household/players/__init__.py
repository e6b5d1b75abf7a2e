"""Players of Household: the oracle, and a searcher that knows only what it has seen."""
