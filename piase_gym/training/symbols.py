"""The first layer of a policy for observations made of symbols: a sum of embeddings, compiled.

Every code at every place of a vector has a row of a table, and the encoding is the sum of the rows
that an observation picks. A linear layer does the same with one-hot vectors. Few of the codes that
a space allows occur, so only those have rows: `SymbolEncoder.admit` gives a row to each code that
was not met before. Codes without a row add nothing.

The first code that is met at a place has no row either: the rows of the others say how they differ
from it. Otherwise every place where nothing ever changes would be one more bias, and an optimizer
like Adam moves all these biases together, each by its full rate; in large worlds many units then
never fire again.

Both passes are compiled. `piase_gym.adapters.CellEncoder` is the same sum in plain torch, with a
row for every code, for learners that build their networks themselves.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from piase_gym.agents.space_data import symbol_starts
from piase_gym.compiled import inline, kernel

CHUNK = 128
"""A table grows by multiples of this many rows."""


@inline
def row_of(rows, starts, values, i, k):
    """Return the row of the symbol at place `k` of vector `i`; 0 for an unknown one."""
    value, start = np.int64(values[i, k]), starts[k]
    return rows[start + value] if 0 <= value < starts[k + 1] - start else np.int32(0)


@kernel
def admit(rows, starts, first, values, count):
    """Give a row to every code that has none and needs one; return the number of rows."""
    for i in range(values.shape[0]):
        for k in range(values.shape[1]):
            value, start = np.int64(values[i, k]), starts[k]
            if not 0 <= value < starts[k + 1] - start or value == first[k]:
                continue
            if first[k] < 0:
                first[k] = value
            elif rows[start + value] == 0:
                rows[start + value] = count
                count += 1
    return count


@kernel
def encode(rows, starts, values, table, bias, out):
    """Write the rectified sums of rows, four rows at a time, so that sums stay in registers."""
    places, width = values.shape[1], table.shape[1]
    for i in range(values.shape[0]):
        for j in range(width):
            out[i, j] = bias[j]
        for k in range(0, places - 3, 4):
            a, b = row_of(rows, starts, values, i, k), row_of(rows, starts, values, i, k + 1)
            c, d = row_of(rows, starts, values, i, k + 2), row_of(rows, starts, values, i, k + 3)
            for j in range(width):
                out[i, j] += (table[a, j] + table[b, j]) + (table[c, j] + table[d, j])
        for k in range(places - places % 4, places):
            a = row_of(rows, starts, values, i, k)
            for j in range(width):
                out[i, j] += table[a, j]
        for j in range(width):
            out[i, j] = max(out[i, j], np.float32(0.0))


@kernel
def spread(rows, starts, values, out, grad, table_grad, bias_grad):
    """Add the gradient of each encoding to the rows that were summed in it, and to the bias."""
    width = grad.shape[1]
    passed = np.empty(width, np.float32)
    for i in range(values.shape[0]):
        for j in range(width):
            passed[j] = grad[i, j] if out[i, j] > 0 else np.float32(0.0)
            bias_grad[j] += passed[j]
        for k in range(values.shape[1]):
            a = row_of(rows, starts, values, i, k)
            if a:
                for j in range(width):
                    table_grad[a, j] += passed[j]


class SumOfRows(torch.autograd.Function):
    """The compiled layer, as torch differentiates it."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, table: Tensor, bias: Tensor, encoder: Any) -> Tensor:
        """Return encodings (batch, width)."""
        out = torch.empty(len(values), table.shape[1])
        given = encoder.rows.numpy(), encoder.starts, values.numpy()
        encode(*given, table.detach().numpy(), bias.detach().numpy(), out.numpy())
        ctx.given, ctx.rows = given, len(table)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, Tensor, None]:
        """Return the gradients of table and bias."""
        (out,) = ctx.saved_tensors
        grad = grads[0].contiguous()
        table_grad, bias_grad = torch.zeros(ctx.rows, out.shape[1]), torch.zeros(out.shape[1])
        passed = out.numpy(), grad.numpy(), table_grad.numpy(), bias_grad.numpy()
        spread(*ctx.given, *passed)
        return None, table_grad, bias_grad, None


class SymbolEncoder(nn.Module):
    """Encodes vectors of whole numbers, where each number is a symbol.

    Args:
        high: The largest value at each place, such as `Box.high`; the smallest is 0.
        width: The length of the encoding.

    Attributes:
        table: The embeddings; row 0, for codes without a row, is zero.
        bias: The encoding of the first codes together; initialised like a row, because units that
            begin at 0 would never fire where nothing else is seen.
        rows: The row of each code, place after place; 0 where the code has none.
        first: The code that was met first at each place; -1 where none was.

    Raises:
        ConfigError: If there are so many symbols that the numbers must be quantities.
    """

    table: nn.Parameter
    rows: Tensor
    first: Tensor

    def __init__(self, high: ArrayLike, width: int) -> None:
        """Begin with a table that has no symbols yet."""
        super().__init__()
        self.starts = symbol_starts(high)
        self.register_buffer("rows", torch.zeros(int(self.starts[-1]), dtype=torch.int32))
        self.register_buffer("first", torch.full((len(self.starts) - 1,), -1))
        self.table = nn.Parameter(torch.zeros(1, width))
        self.bias = nn.Parameter(torch.randn(width) * (len(self.starts) - 1) ** -0.5)
        self.count = 1

    def admit(self, values: Tensor) -> bool:
        """Give rows to new codes in values (batch, places); return whether the table grew.

        The table stays the same parameter; an optimizer must make room for the new rows.
        """
        given = self.rows.numpy(), self.starts, self.first.numpy(), values.numpy()
        self.count = int(admit(*given, self.count))
        known, width = self.table.shape
        if self.count <= known:
            return False
        more = -(-(self.count - known) // CHUNK) * CHUNK
        fresh = torch.randn(more, width) * (len(self.starts) - 1) ** -0.5
        self.table.data = torch.cat([self.table.data, fresh])
        self.table.grad = None
        return True

    def forward(self, values: Tensor) -> Tensor:
        """Return encodings (batch, width) of values (batch, places)."""
        encoded: Tensor = SumOfRows.apply(
            values.flatten(1).contiguous(), self.table, self.bias, self
        )
        return encoded

    def _load_from_state_dict(self, state: Any, prefix: str, *rest: Any) -> None:
        """Load a table of any length."""
        table = state.get(prefix + "table")
        if table is not None and table.shape[1:] == self.table.shape[1:]:
            self.table.data = torch.zeros_like(table)
        super()._load_from_state_dict(state, prefix, *rest)
        self.count = int(self.rows.max()) + 1
