"""What tests of TextRoom share: stories, ways to play, a blind search for a shortest win."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from piase_gym.envs.parallel import WorldParallelEnv, parallel_env
from tests.paths import SHARED

SEEDS = SHARED / "seeds"
AGENT = "PiaAgent_001"
SEVEN = (
    "go north",
    "open grandfather_clock",
    "take brass_key",
    "go south",
    "use brass_key on desk",
    "open desk",
    "take old_document",
)


def seed_text() -> str | None:
    """Return the PiaSE design document where it is there."""
    found = sorted(SEEDS.glob("000_*")) if SEEDS.is_dir() else []
    return found[0].read_text("utf-8") if found else None


def seed_scenario(text: str) -> str:
    """Return the YAML of "The Lost Key" as the seed prints it, its events uncommented."""
    block = next(b for b in re.findall(r"```yaml\n(.*?)```", text, re.S) if "The Lost Key" in b)
    head, _, events = block.partition("# events:")
    lines = [re.sub(r"^# ?", "", line) for line in ("# events:" + events).splitlines()]
    return head + "\n".join(lines) + "\n"


def story(**parts: Any) -> dict[str, Any]:
    """Return a small story with some parts replaced."""
    base: dict[str, Any] = {
        "rooms": {
            "hall": {"description": "a hall.", "exits": {"east": "den"}, "objects": ["box"]},
            "den": {"description": "a den.", "exits": {"west": "hall"}, "objects": []},
        },
        "object_details": {
            "box": {"is_container": True, "contains": ["gem"]},
            "gem": {"can_be_taken": True},
        },
        "agent_setup": [{"agent_id": "ann", "start_room": "hall"}],
        "win_conditions": [{"type": "item_in_inventory", "item_name": "gem"}],
    }
    return {**base, **parts}


def make(given: dict[str, Any] | None = None, **fields: Any) -> WorldParallelEnv:
    """Make and reset an environment with text actions."""
    if given is not None:
        fields["story"] = given
    env = parallel_env("TextRoom", actions="text", **fields)
    env.reset(seed=0)
    return env


def say(env: WorldParallelEnv, line: Any, agent: str | None = None) -> dict[str, Any]:
    """Let one agent act and the others wait; returns its info with its reward and ends."""
    name = agent or env.agents[0]
    given = {other: line if other == name else "wait" for other in env.agents}
    _, rewards, terminated, truncated, infos = env.step(given)
    ends = {"terminated": terminated[name], "truncated": truncated[name]}
    return {**infos[name], "reward": rewards[name], **ends}


def play(env: WorldParallelEnv, *lines: str, agent: str | None = None) -> dict[str, Any]:
    """Let an agent act line by line; returns the last info."""
    info: dict[str, Any] = {}
    for line in lines:
        info = say(env, line, agent)
    return info


def blind_search(env: WorldParallelEnv, agent: str, most: int = 20_000) -> int | None:
    """Return the fewest steps in which an agent can win, by trying every admissible command.

    It knows nothing of the rules: it goes by snapshots, admissible commands and what `step` says,
    and tells states apart by the world's own state without clock, words and letters.
    """
    start = env.snapshot()
    queue = deque([(start, 0)])
    seen = {_shape(start)}
    while queue and len(seen) < most:
        snapshot, depth = queue.popleft()
        env.restore(snapshot)
        for line in env.admissible_commands(agent):
            if line.split()[0] in ("say", "tell", "wait", "inventory"):
                continue
            env.restore(snapshot)
            given = {name: line if name == agent else "wait" for name in env.agents}
            infos = env.step(given)[4]
            if infos[agent].get("result") == "won":
                return depth + 1
            after = env.snapshot()
            if env.agents and _shape(after) not in seen:
                seen.add(_shape(after))
                queue.append((after, depth + 1))
    return None


def _shape(snapshot: dict[str, Any]) -> str:
    """Return what tells states apart."""
    room = snapshot["state"]["room"]
    fields = ("place", "hidden", "is_open", "locked", "rooms", "status", "flags", "fired")
    return repr([room[field] for field in fields])
