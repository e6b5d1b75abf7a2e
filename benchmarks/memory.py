"""The command ``python -m piase_gym.benchmarks.memory``: see `speed.memory`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("memory")
