"""Players of SqlQuery: the gold queries, and a solver that reads the question."""
