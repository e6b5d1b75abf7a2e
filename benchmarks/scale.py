"""The command ``python -m piase_gym.benchmarks.scale``: see `speed.scale`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("scale")
