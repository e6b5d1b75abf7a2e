"""Environments: a world behind the APIs of PettingZoo and Gymnasium. They contain no rules.

`parallel_env`, `aec_env`, `gym_env` and `batch_env` of `piase_gym` make them.
"""
