"""The command ``python -m piase_gym.benchmarks.logging``: see `speed.logs`."""

from piase_gym.benchmarks.speed.logs import main

if __name__ == "__main__":
    main()
