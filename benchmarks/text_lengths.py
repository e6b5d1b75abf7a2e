"""The command ``python -m piase_gym.benchmarks.text_lengths``: see `speed.text_lengths`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("text_lengths")
