"""The command ``python -m piase_gym.benchmarks.scenarios``: see `speed.scenarios`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("scenarios")
