"""GridWorld: agents on a grid. This package itself imports nothing."""
