"""The command ``python -m piase_gym.benchmarks.logging``: see `speed.logs`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("logs")
