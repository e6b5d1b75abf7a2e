"""The command ``python -m piase_gym.benchmarks.object_search``: see `speed.object_search`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("object_search")
