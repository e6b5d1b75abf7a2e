"""What all array worlds share, beside what the kit and the sweeps ask of each."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import piase_gym


@pytest.mark.parametrize("name", ["GridWorld", "SocialDilemma", "ObjectSearch", "WordCraft"])
def test_what_a_kernel_writes_into_lives_until_it_has_written(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels have addresses alone, so nothing else keeps the outputs of a trial level alive."""
    world: Any = piase_gym.parallel_env(name).world
    kernels, new_outputs, made, calls = world.kernels, world._new_outputs, list[Any](), list[bool]()

    def remember(one: Any) -> Any:
        found = new_outputs(one)
        made.extend(weakref.ref(array) for array in found)
        return found

    def reset(*arguments: Any) -> Any:
        calls.append(bool(made) and all(array() is not None for array in made))
        return kernels.reset_one(*arguments)

    monkeypatch.setattr(world, "_new_outputs", remember)
    monkeypatch.setattr(world, "kernels", kernels._replace(reset_one=reset))
    assert world.make_level(world.new_single(world.config), 0) == 0
    assert calls == [True]
