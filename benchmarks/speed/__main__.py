"""The command ``python -m piase_gym.benchmarks.speed``."""

from piase_gym.benchmarks.speed.measure import run

run("measure")
