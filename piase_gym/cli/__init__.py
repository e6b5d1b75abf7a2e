"""The command line, ``piase``: one module per group of commands, put together in `app`."""

from piase_gym.cli.app import app, main

__all__ = ["app", "main"]
