"""The command ``python -m piase_gym.benchmarks.learning``: see `speed.learning`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("learning")
