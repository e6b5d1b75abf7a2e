"""The command ``python -m piase_gym.benchmarks.physics``: see `speed.physics`."""

from piase_gym.benchmarks.speed.physics import main

if __name__ == "__main__":
    main()
