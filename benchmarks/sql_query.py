"""The command ``python -m piase_gym.benchmarks.sql_query``: see `speed.sql_query`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("sql_query")
