"""The command ``python -m piase_gym.benchmarks.household``: see `speed.household`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("household")
