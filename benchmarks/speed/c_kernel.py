"""GridWorld's kernel written by hand in C: the baseline for the compiled one.

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

AGENTS = 4
ACTIONS = 6
LENGTH = 65
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")

CONFIG: dict[str, Any] = {
    "layout": "door_key",
    "width": 16,
    "height": 16,
    "border": True,
    "agents": AGENTS,
    "max_steps": 256,
}
"""The task, as the arguments of `GridWorldConfig`."""


OUTPUTS = ("obs", "masks", "rewards", "terminated", "truncated", "events")


class _Outputs(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in OUTPUTS]


def available() -> bool:
    """Tell whether there is a C compiler."""
    return shutil.which("cc") is not None


@functools.cache
def load() -> ctypes.CDLL:
    """Compile the kernel and load it."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "grid_kernel.so")
        with as_file(files(__package__) / "grid_kernel.c") as source:
            command = ["cc", *FLAGS, "-o", str(library), str(source)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise RuntimeError(f"cc could not compile {source.name}:\n{run.stderr}")
        kernel = ctypes.CDLL(str(library))
    pointer, outputs = ctypes.c_void_p, ctypes.POINTER(_Outputs)
    kernel.grid_size.restype = ctypes.c_size_t
    kernel.grid_reset.argtypes = [pointer, ctypes.c_long, ctypes.c_uint64, outputs]
    kernel.grid_reset.restype = None
    kernel.grid_step.argtypes = [pointer, ctypes.c_long, pointer, outputs]
    kernel.grid_step.restype = ctypes.c_long
    return kernel


class CKernel:
    """Many environments of the fixed task; one that is over starts anew in the next step.

    The outputs are flat arrays with a row an agent, environments first, overwritten by each step.

    Args:
        num_envs: How many environments.
        seed: Environment i is seeded with ``seed + i``.
    """

    def __init__(self, num_envs: int, seed: int) -> None:
        rows = num_envs * AGENTS
        self.num_envs = num_envs
        self.obs = np.zeros(rows * LENGTH, np.uint8)
        self.masks = np.zeros(rows * ACTIONS, np.int8)
        self.rewards = np.zeros(rows, np.float64)
        self.terminated = np.zeros(rows, np.bool_)
        self.truncated = np.zeros(rows, np.bool_)
        self.events = np.zeros(rows, np.uint8)
        self._kernel = load()
        # NumPy asks for large pages, so that both kernels live in the same kind of memory.
        self._envs = np.zeros(num_envs * self._kernel.grid_size(), np.uint8)
        self._actions = np.zeros(rows, np.int32)
        outputs = (getattr(self, name) for name in OUTPUTS)
        self._outputs = _Outputs(*(array.ctypes.data for array in outputs))
        # Arguments of every step: asking an array for its address costs more than the call.
        self._arguments = (
            ctypes.c_void_p(self._envs.ctypes.data),
            ctypes.c_long(num_envs),
            ctypes.c_void_p(self._actions.ctypes.data),
            ctypes.byref(self._outputs),
        )
        self._kernel.grid_reset(self._envs.ctypes.data, num_envs, seed, self._outputs)

    def step(self, actions: NDArray[np.int32]) -> None:
        """Advance every environment by a step."""
        if actions.shape != self._actions.shape:
            raise ValueError(f"actions must have shape {self._actions.shape}, not {actions.shape}")
        np.copyto(self._actions, actions)
        fault = self._kernel.grid_step(*self._arguments)
        if fault:
            raise ValueError(f"action {-1 - fault} is not in 0..{ACTIONS - 1}")
