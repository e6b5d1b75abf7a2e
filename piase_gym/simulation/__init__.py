"""Simulations: a scenario or a world, run with named agents, on a clock, with a summary report."""

from piase_gym.simulation.exploration import Exploration
from piase_gym.simulation.simulation import Simulation

__all__ = ["Exploration", "Simulation"]
