"""The encoder of symbols is a linear layer on one-hot codes, and refuses quantities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from piase_gym.errors import ConfigError

torch = pytest.importorskip("torch")
sb3 = pytest.importorskip("stable_baselines3")

from piase_gym.adapters import CellEncoder, CellFeatures, sb3_vec  # noqa: E402  # needs the extra


def test_it_is_a_linear_layer_on_one_hot_codes() -> None:
    rng = np.random.default_rng(0)
    high = rng.integers(0, 9, 20)
    encoder = CellEncoder(high, 7)
    torch.nn.init.normal_(encoder.bias)
    values = torch.as_tensor(rng.integers(0, high + 1, (50, 20)).astype(np.uint8))
    parts = [torch.nn.functional.one_hot(values[:, i].long(), high[i] + 1) for i in range(20)]
    codes = torch.cat(parts, dim=1).double()
    expected = (codes @ encoder.table.weight.double() + encoder.bias.double()).clamp(min=0.0)
    torch.testing.assert_close(encoder(values).double(), expected, atol=1e-5, rtol=1e-5)
    # The gradient of the table is that of the linear layer: each code adds to its own row only.
    encoder(values).sum().backward()
    active = (expected > 0).double()
    torch.testing.assert_close(encoder.table.weight.grad.double(), codes.T @ active)
    torch.testing.assert_close(encoder.bias.grad.double(), active.sum(0))


def test_every_value_of_the_space_has_a_row_of_its_own() -> None:
    encoder = CellEncoder(np.array([2, 0, 3]), 4)
    assert encoder.table.weight.shape[0] == 3 + 1 + 4
    rows = {int(v + encoder.starts[i]) for i, top in enumerate((2, 0, 3)) for v in range(top + 1)}
    assert rows == set(range(8))
    assert encoder.state_dict().keys() == {"table.weight", "bias"}  # what files of models hold


def test_encodings_begin_about_one_large() -> None:
    encoder = CellEncoder(np.full(100, 7), 64)
    assert not encoder.bias.any()
    values = torch.as_tensor(np.random.default_rng(0).integers(0, 8, (500, 100)))
    squares = encoder(values).detach().square()
    assert float(squares.mean()) == pytest.approx(0.5, abs=0.1)  # one half is 0


def test_floats_of_a_learner_mean_the_same_symbols() -> None:
    encoder = CellEncoder(np.full(5, 255), 3)
    values = torch.randint(0, 256, (4, 5), dtype=torch.uint8)
    assert torch.equal(encoder(values), encoder(values.float()))


def test_quantities_are_refused_with_a_sentence() -> None:
    for space in (
        spaces.Box(0.0, 1.0, (3,), np.float32),
        spaces.Box(0, 9, (3,), np.int32),
        spaces.Box(1, 9, (3,), np.uint8),
        spaces.Discrete(4),
    ):
        with pytest.raises(ConfigError, match="Box of integers from 0 on"):
            CellFeatures(space)
    grid = spaces.Box(0, 9, (3, 4), np.uint8)
    seen = torch.zeros((5, 3, 4), dtype=torch.uint8)
    assert CellFeatures(grid)(seen).shape == (5, 128)
    assert (CellFeatures(grid, 7).features_dim, CellFeatures(grid, 7)(seen).shape) == (7, (5, 7))
    with pytest.raises(ConfigError, match="are no symbols"):
        CellEncoder(np.full(10, 2**31 - 1), 8)


def test_stable_baselines_trains_and_keeps_it(tmp_path: Path) -> None:
    vec = sb3_vec("GridWorld", num_envs=4, max_steps=20)
    cells = {"features_extractor_class": CellFeatures, "net_arch": [16]}
    model = sb3.PPO("MlpPolicy", vec, n_steps=16, batch_size=32, n_epochs=1, policy_kwargs=cells)
    before = model.policy.features_extractor.encoder.table.weight.clone()
    model.learn(64)
    assert (model.policy.features_extractor.encoder.table.weight != before).any()
    model.save(tmp_path / "model")
    again = sb3.PPO.load(tmp_path / "model")
    shown = vec.reset()
    np.testing.assert_array_equal(
        model.predict(shown, deterministic=True)[0], again.predict(shown, deterministic=True)[0]
    )
