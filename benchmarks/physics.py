"""The command ``python -m piase_gym.benchmarks.physics``: see `speed.physics`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("physics")
