"""The command ``python -m piase_gym.benchmarks.word_craft``: see `speed.word_craft`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("word_craft")
