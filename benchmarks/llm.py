"""The command ``python -m piase_gym.benchmarks.llm``: see `speed.llm`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("llm")
