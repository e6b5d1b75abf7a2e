"""The command ``python -m piase_gym.benchmarks.sql_query_learning``: see `speed` beside it."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("sql_query_learning")
