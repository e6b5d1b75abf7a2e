"""Mutation testing: see `tests.mutation.__main__`."""
