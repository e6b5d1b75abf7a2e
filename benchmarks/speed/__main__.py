"""The command ``python -m piase_gym.benchmarks.speed``."""

from piase_gym.benchmarks.speed.commands import run

run("measure")
