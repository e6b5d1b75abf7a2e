"""The command ``python -m piase_gym.benchmarks.curriculum``: see `speed.curriculum`."""

from piase_gym.benchmarks.speed.curriculum import main

if __name__ == "__main__":
    main()
