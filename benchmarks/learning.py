"""The command ``python -m piase_gym.benchmarks.learning``: see `speed.learning`."""

from piase_gym.benchmarks.speed.measure import run

if __name__ == "__main__":
    run("learning")
