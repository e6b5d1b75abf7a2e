"""The command line, ``piase``: one module per group of commands, put together in `app`."""

import gc

_collects = gc.isenabled()
gc.disable()  # modules are no garbage: looking for it took a quarter of the start
try:
    from piase_gym.cli.app import app, main
finally:
    gc.freeze()
    if _collects:
        gc.enable()

__all__ = ["app", "main"]
