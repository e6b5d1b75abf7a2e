"""The rules of SqlQuery: the guarded engine, the score, hardness, what a step does."""
