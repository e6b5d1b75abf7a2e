"""The command ``python -m piase_gym.benchmarks.pictures``: see `speed.pictures`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("pictures")
