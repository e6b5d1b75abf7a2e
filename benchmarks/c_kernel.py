"""GridWorld's kernel written by hand in C: the yardstick for the compiled one.

`CKernel` compiles ``grid_kernel.c`` with the system's C compiler. It knows one fixed task (see
there) and gives, byte for byte, what GridWorld gives for the same seeds and actions.
"""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

AGENTS = 4
ACTIONS = 6
LENGTH = 65
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")

CONFIG = {
    "layout": "door_key",
    "width": 16,
    "height": 16,
    "border": True,
    "agents": AGENTS,
    "max_steps": 256,
}
"""The task, as the arguments of `GridWorldConfig`."""


class _Outputs(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_void_p)
        for name in ("obs", "masks", "rewards", "terminated", "truncated", "events")
    ]


def available() -> bool:
    """Tell whether there is a C compiler."""
    return shutil.which("cc") is not None


@functools.cache
def load(flags: tuple[str, ...] = FLAGS) -> ctypes.CDLL:
    """Compile the kernel and load it."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "grid_kernel.so")
        with as_file(files(__package__) / "grid_kernel.c") as source:
            command = ["cc", *flags, "-o", str(library), str(source)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise RuntimeError(f"cc could not compile {source.name}:\n{run.stderr}")
        kernel = ctypes.CDLL(str(library))
    pointer = ctypes.c_void_p
    outputs = ctypes.POINTER(_Outputs)
    kernel.grid_new.argtypes = [ctypes.c_long, ctypes.c_uint64, outputs]
    kernel.grid_new.restype = pointer
    kernel.grid_free.argtypes = [pointer]
    kernel.grid_free.restype = None
    kernel.grid_size.argtypes = []
    kernel.grid_size.restype = ctypes.c_size_t
    kernel.grid_step.argtypes = [pointer, ctypes.c_long, pointer, outputs]
    kernel.grid_step.restype = ctypes.c_long
    return kernel


class CKernel:
    """Many environments of the fixed task; one that is over starts anew in the next step.

    The outputs are flat arrays with a row an agent, environments first, overwritten by each step.

    Args:
        num_envs: How many environments.
        seed: Environment i is seeded with ``seed + i``.
        flags: What to compile with.
    """

    def __init__(self, num_envs: int, seed: int, flags: tuple[str, ...] = FLAGS) -> None:
        rows = num_envs * AGENTS
        self.num_envs = num_envs
        self.obs = np.zeros(rows * LENGTH, np.uint8)
        self.masks = np.zeros(rows * ACTIONS, np.int8)
        self.rewards = np.zeros(rows, np.float64)
        self.terminated = np.zeros(rows, np.bool_)
        self.truncated = np.zeros(rows, np.bool_)
        self.events = np.zeros(rows, np.uint8)
        arrays = (
            self.obs,
            self.masks,
            self.rewards,
            self.terminated,
            self.truncated,
            self.events,
        )
        self._outputs = _Outputs(*(array.ctypes.data for array in arrays))
        self._kernel = load(flags)
        self._envs = self._kernel.grid_new(num_envs, seed, self._outputs)
        if not self._envs:
            raise MemoryError(f"no memory for {num_envs} environments")

    def step(self, actions: NDArray[np.int32]) -> None:
        """Advance every environment by a step."""
        if actions.dtype != np.int32 or actions.shape != (self.num_envs * AGENTS,):
            raise ValueError(f"actions must be {self.num_envs * AGENTS} numbers of type int32")
        actions = np.ascontiguousarray(actions)
        fault = self._kernel.grid_step(
            self._envs, self.num_envs, actions.ctypes.data, self._outputs
        )
        if fault:
            raise ValueError(f"an action of environment {-1 - fault} is not in 0..{ACTIONS - 1}")

    def __del__(self) -> None:
        if getattr(self, "_envs", None):
            self._kernel.grid_free(self._envs)
