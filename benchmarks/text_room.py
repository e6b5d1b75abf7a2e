"""The command ``python -m piase_gym.benchmarks.text_room``: see `speed.text_room`."""

from piase_gym.benchmarks.speed.text_room import main

if __name__ == "__main__":
    main()
