"""What scripts do to a home: objects that they put somewhere or take away."""

from __future__ import annotations

from typing import Any

import piase_gym

KITCHEN: dict[str, Any] = {
    "rooms": ("kitchen",),
    "problem_id": 0,
    "tasks": ("pick",),
    "objects": 30,
    "receptacles": 30,
}


def home(*events: tuple[int, dict[str, Any]]) -> Any:
    """Return an environment with responses of a script, each at the end of a step."""
    script = {
        "events": [
            {"when": {"fact": "step", "at_least": step}, "response": response}
            for step, response in events
        ]
    }
    env = piase_gym.parallel_env("Household", actions="text", script=script, **KITCHEN)
    env.reset(seed=0)
    return env


def outcomes(env: Any, *lines: str) -> list[str]:
    """Return what became of some commands."""
    return [str(env.step({"agent_0": line})[4]["agent_0"]["outcome"]) for line in lines]


def test_what_a_script_took_away_cannot_be_sliced_and_what_it_put_there_can() -> None:
    apple, knife, shelf = "apple 1", "butterknife 1", "countertop 2"
    env = home(
        (1, {"type": "remove_object", "object": apple}),
        (6, {"type": "spawn_object", "object": apple, "place": shelf}),
    )
    place = "garbagecan 1"  # where it lay
    to_take = [f"go to {shelf}", f"take {knife} from {shelf}"]
    assert outcomes(env, "look", *to_take) == ["ok", "ok", "ok"]
    slicing = f"slice {apple} with {knife}"
    assert outcomes(env, f"go to {place}", slicing, f"go to {shelf}") == ["ok", "illegal", "ok"]
    assert slicing in env.admissible_commands("agent_0")
    assert outcomes(env, slicing) == ["ok"]
    env.close()


def test_a_task_that_a_script_has_done_is_won_at_the_next_step() -> None:
    env = piase_gym.parallel_env("Household", **KITCHEN)
    env.reset(seed=0)
    game = env.world.game
    (wanted,) = game.goal.wanted
    target, place = game.objects[wanted.objects[0]], game.receptacles[wanted.places[0]]
    env.close()
    env = home(
        (1, {"type": "remove_object", "object": target}),
        (2, {"type": "spawn_object", "object": target, "place": place}),
    )
    assert outcomes(env, "look", "look") == ["ok", "ok"]
    *_, terminated, _, infos = env.step({"agent_0": "look"})
    assert terminated["agent_0"]
    assert infos["agent_0"]["result"] == "won"
    env.close()
