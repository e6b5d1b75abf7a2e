"""The command ``python -m piase_gym.benchmarks.curriculum``: see `speed.curriculum`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("curriculum")
