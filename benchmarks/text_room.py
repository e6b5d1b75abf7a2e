"""The command ``python -m piase_gym.benchmarks.text_room``: see `speed.text_room`."""

from piase_gym.benchmarks.speed.commands import run

if __name__ == "__main__":
    run("text_room")
